"""Reports that several tests look at; they are made once."""

import pytest

from fan_dense.evaluation.report import report
from tests.evaluation.report import examples

HARMFUL = '<b>fan</b> $x$ & "y" | z_1'  # a model's name


@pytest.fixture(scope='session')
def sweeps(tmp_path_factory):
    """Folders of sweeps: whole and partial ones of segmentation, a detector's, and one without pictures or records."""
    root = tmp_path_factory.mktemp('sweeps')
    examples.write(root / 'whole', absent=('pole',), unchanged={'fog 3': 2})
    examples.write(
        root / 'partial',
        name=HARMFUL,
        seed=1,
        quality=0.8,
        absent=('pole',),
        missing=('snow 3',),
        training_corruptions=('fog', 'pixelate'),
    )
    examples.write(root / 'detector', name='fan_maskrcnn_scenes', kind='detection', seed=2, worst=1)
    examples.write(root / 'bare', name='bare', seed=3, with_records=False, worst=0)
    return root


@pytest.fixture(scope='session')
def alone(sweeps, tmp_path_factory):
    """Folder of the report of one segmenter."""
    out = tmp_path_factory.mktemp('alone') / 'report'
    report(folders=[sweeps / 'whole'], out=out, resamples=50)
    return out


@pytest.fixture(scope='session')
def several(sweeps, tmp_path_factory):
    """Folder of the report of two segmenters, one of them partial, and a detector."""
    out = tmp_path_factory.mktemp('several') / 'report'
    report(folders=[sweeps / name for name in ('whole', 'partial', 'detector')], out=out, partial=True, resamples=20)
    return out
