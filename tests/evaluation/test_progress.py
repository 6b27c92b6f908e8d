from fan_dense.evaluation import progress
from fan_dense.evaluation.result import Condition

FOG = Condition(corruption='fog', severity=3)


def test_the_time_left_counts_the_conditions_to_come():
    bar = progress.Progress(3, 10)
    bar.begin(Condition())
    bar.advance(10)
    bar.begin(FOG)
    bar.advance(4)
    # 14 of 30 images in 7 s: 2 images/s, 8 s for the other 16
    assert bar.line(bar.started + 7) == 'fog 3 (2/3): 4/10 images, 2.0 images/s, 0:00:08 left'
    assert bar.line(bar.started + 7 * 3600) == 'fog 3 (2/3): 4/10 images, 0.0 images/s, 8:00:00 left'


def test_padded_images_of_the_last_batch_do_not_count():
    bar = progress.Progress(1, 5)
    bar.begin(FOG)
    bar.advance(6)
    assert bar.line(bar.started + 1) == 'fog 3: 5/5 images, 5.0 images/s, 0:00:00 left'


def test_a_log_gets_a_line_every_half_minute_and_a_silent_one_none(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, 'monotonic', lambda: now[0])
    loud, silent = (progress.Progress(1, 100, shown=shown) for shown in (True, False))
    for bar in (loud, silent):
        bar.begin(FOG)
    for _ in range(100):
        now[0] += 1
        loud.advance(1)
        silent.advance(1)
    loud.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(':')[1].split()[0] for line in lines] == ['31/100', '62/100', '93/100']
