import multiprocessing
import os
import signal
import time

import pytest

from fan_dense.evaluation.claims import Claims, in_turn
from fan_dense.evaluation.result import Condition

CONDITIONS = [Condition(), *(Condition(corruption='fog', severity=level) for level in range(1, 6))]


def never(condition):
    return False


def _take(folder, count, pipe):
    claims = Claims(folder, CONDITIONS, never)
    pipe.send([str(next(iter(claims))) for _ in range(count)])
    time.sleep(60)


@pytest.fixture
def other(tmp_path):
    """Start another process that claims some conditions: ``other(2)`` -> (process, their names)."""
    context, started = multiprocessing.get_context('spawn'), []

    def start(count):
        here, there = context.Pipe()
        process = context.Process(target=_take, args=(tmp_path, count, there))
        process.start()
        started.append(process)
        assert here.poll(60)
        return process, here.recv()

    yield start
    for process in started:
        process.kill()
        process.join()


def test_alone_it_gets_all_in_order_and_each_once(tmp_path):
    assert list(Claims(tmp_path, CONDITIONS, never)) == CONDITIONS


def test_what_is_finished_is_not_claimed(tmp_path):
    claims = Claims(tmp_path, CONDITIONS, lambda condition: condition.severity in (1, 2))
    assert [condition.severity for condition in claims] == [None, 3, 4, 5]


def test_two_processes_never_get_the_same(tmp_path, other):
    _, theirs = other(2)
    assert theirs == ['clean', 'fog 1']
    assert list(map(str, Claims(tmp_path, CONDITIONS, never))) == ['fog 2', 'fog 3', 'fog 4', 'fog 5']


def test_a_killed_process_gives_back_what_it_claimed(tmp_path, other):
    process, theirs = other(3)
    claims = Claims(tmp_path, CONDITIONS[:3], never)
    assert len(theirs) == 3
    assert list(claims) == []
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert list(claims) == CONDITIONS[:3]


def test_a_condition_that_another_finished_meanwhile_is_not_claimed(tmp_path):
    looked = []

    def finished(condition):  # between the look and the lock
        looked.append(condition)
        return len(looked) > 1

    claims = Claims(tmp_path, CONDITIONS[:1], finished)
    assert not claims.claim(CONDITIONS[0])
    assert len(looked) == 2
    assert list(tmp_path.iterdir()) == []


def test_released_ones_leave_no_file_and_can_be_claimed_again_unless_finished(tmp_path):
    done = set()
    claims = Claims(tmp_path, CONDITIONS, done.__contains__)
    assert claims.claim(CONDITIONS[0])
    done.add(CONDITIONS[0])
    claims.release(CONDITIONS[0])
    assert not claims.claim(CONDITIONS[0])
    assert claims.claim(CONDITIONS[1])
    claims.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('shards', [1, 2, 3, 7])
def test_every_job_wants_all_and_starts_with_its_own(shards):
    orders = [in_turn(CONDITIONS, shard, shards) for shard in range(1, shards + 1)]
    assert all(set(order) == set(CONDITIONS) and len(order) == len(CONDITIONS) for order in orders)
    own = [str(one) for i, order in enumerate(orders) for one in order[: len(CONDITIONS[i::shards])]]
    assert sorted(own) == sorted(map(str, CONDITIONS))
