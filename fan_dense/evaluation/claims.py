"""Sharing the conditions of a sweep among processes that see the same folder.

A condition is claimed by a lock on a file of its own. The system gives a lock back when its holder ends, however it
ends, so that a job that was killed never keeps a condition from the others.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from fan_dense.evaluation.result import Condition


class Claims:
    """The conditions that this process takes on, one after another.

    Iterating gives the next condition that is neither finished nor claimed by another process, until there is none.

    Args:
        folder: where the lock files are.
        conditions: all of them, in the order in which this process wants them.
        finished: whether a condition has its result already.
    """

    def __init__(self, folder: Path, conditions: Sequence[Condition], finished: Callable[[Condition], bool]):
        self.folder = folder
        self.conditions = conditions
        self.finished = finished
        self.held: dict[Condition, IO] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def __iter__(self) -> Iterator[Condition]:
        while condition := next((one for one in self.conditions if self.claim(one)), None):
            yield condition

    def claim(self, condition: Condition) -> bool:
        """Whether the condition is this process's now, and was not before."""
        if condition in self.held or self.finished(condition):
            return False
        path = self.folder / f'{condition.file_stem}.lock'
        lock = open(path, 'a')  # noqa: SIM115 (open for as long as the claim holds)
        try:
            # a record lock: forked workers of the data loader do not inherit it, network file systems know it
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise OSError(
                f'{path} cannot be locked ({error.strerror}): put the results on another file system'
            ) from error
        if self.finished(condition):  # by its last holder, between our look and our lock
            self._release(lock)
            return False
        self.held[condition] = lock
        return True

    def release(self, condition: Condition) -> None:
        """The condition's result is written."""
        self._release(self.held.pop(condition))

    def close(self) -> None:
        """Release whatever is still held."""
        for condition in list(self.held):
            self.release(condition)

    def _release(self, lock: IO) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock.name)
        lock.close()


def in_turn(conditions: Sequence[Condition], shard: int, shards: int) -> list[Condition]:
    """The order in which job ``shard`` (from 1) of ``shards`` wants them: its own, then what others would do last.

    >>> in_turn('abcdefg', 2, 3)
    ['b', 'e', 'g', 'f', 'd', 'c', 'a']
    """
    own = list(conditions[shard - 1 :: shards])
    return own + [one for one in reversed(conditions) if one not in own]
