"""The benchmark script, with a stand-in for the other package."""

import json
import runpy
import sys

import numpy as np
import pytest

from tests.reference import ROOT


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'benchmarks')
    return runpy.run_path(str(ROOT / 'benchmarks' / 'corruptions.py'))


def test_table_summary_and_file(script, tmp_path, capsys, monkeypatch):
    class Reference:
        """Always takes a second."""

        process = None

        def __init__(self, frame):
            assert np.load(frame).shape == (512, 512, 3)
            self.process = type('Process', (), {'stdin': sys.stdout, 'wait': lambda self: None})()
            monkeypatch.setattr(sys.stdout, 'close', lambda: None)

        def time(self, **job):
            assert job['height'] == 40
            return script['Timing']([1.0] * job['repeats'], 48 * 40 * 3 * 7)

    main = script['main']
    main.__globals__['Reference'] = Reference
    arguments = {
        'sizes': ['48x40'],
        'severities': [3],
        'names': ('fog', 'contrast'),
        'repeats': 3,
        'reference_repeats': 2,
        'clock': 'wall',
        'out': tmp_path / 'times.json',
    }
    main(type('Arguments', (), arguments))
    out = capsys.readouterr().out
    assert '48 x 40, severity 3' in out
    assert '| fog | ' in out
    assert '| 1000.0 | 0.0 |' in out
    assert 'against 2000 ms' in out
    assert 'Floor: copy of the image' in out
    rows = json.loads((tmp_path / 'times.json').read_text())['rows']
    assert [row['name'] for row in rows] == ['fog', 'contrast']
    assert all(len(row['ours']['times']) == 3 and row['ratio'] > 1 for row in rows)


def test_summary_is_sum_mean_and_extremes(script):
    timing, row = script['Timing'], script['Row']
    rows = [
        row(100, 100, 3, 'fast', timing([0.1], 30000), timing([0.8], 0)),
        row(100, 100, 3, 'slow', timing([0.3], 240000), timing([0.6], 0)),
    ]
    assert script['summary'](rows) == (
        'Sum 400 ms against 1400 ms: 3.5 times faster. Geometric mean 4.0. Least: slow 2.00. '
        'Most memory: slow, 8.0 bytes per sample.'
    )


def test_peak_sees_memory_that_was_given_back(script):
    with script['Peak']() as peak:
        np.ones(40_000_000, np.uint8).sum()
    assert 38e6 < peak.bytes < 60e6
