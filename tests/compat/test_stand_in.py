"""The stand-in for ``mmcv._ext``: who wins, in which order things may be imported, what mmengine makes of it."""

import os
import subprocess
import sys

import pytest

import fan_dense

# As on a machine without mmcv.
HIDE_MMCV = """
import importlib.machinery
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *rest: None if name.startswith('mmcv') else find(name, *rest)
"""


def python(code, *, check=True, path=None):
    environment = os.environ | ({'PYTHONPATH': str(path)} if path else {})
    result = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=False, env=environment)
    assert not check or result.returncode == 0, result.stderr
    return result


def test_import_is_light():
    loaded = python('import sys, fan_dense; print(*sys.modules)').stdout.split()
    heavy = {'torch', 'torchvision', 'numpy', 'mmengine', 'mmcv', 'mmdet', 'mmseg', 'timm'}
    assert 'fan_dense' in loaded
    assert not heavy & set(loaded)


# What a user writes who imports fan_dense late, or only after mmcv.ops has failed for want of the extension.
AFTER_A_FAILURE = """
try:
    import mmcv.ops
except ModuleNotFoundError as error:
    assert error.name == 'mmcv._ext'
import fan_dense, mmcv.ops
"""


@pytest.mark.parametrize('imports', ['import mmcv, fan_dense, mmcv.ops', AFTER_A_FAILURE], ids=['late', 'failed'])
def test_import_orders(imports):
    code = '\nimport mmcv._ext as ext; print(ext.__spec__.origin, ext.roi_align_forward.__module__)'
    assert python(imports + code).stdout.split() == ['fan_dense.compat.ops', 'fan_dense.compat.ops.roi_align']


@pytest.mark.parametrize('imports', ['import fan_dense, mmcv._ext', 'import mmcv._ext, fan_dense'])
def test_compiled_mmcv_wins(tmp_path, imports):
    package = tmp_path / 'mmcv'
    package.mkdir()
    (package / '__init__.py').touch()
    (package / '_ext.py').write_text('nms = "compiled"')
    printed = python(f'{imports}; print(mmcv._ext.nms, mmcv._ext.__file__)', path=tmp_path).stdout.split()
    assert printed == ['compiled', str(package / '_ext.py')]


def test_broken_compiled_mmcv_is_not_covered_up(tmp_path):
    package = tmp_path / 'mmcv'
    package.mkdir()
    (package / '__init__.py').touch()
    (package / '_ext.py').write_text('raise ImportError("undefined symbol")')
    result = python('import fan_dense, mmcv._ext', path=tmp_path, check=False)
    assert result.stderr.splitlines()[-1] == 'ImportError: undefined symbol'


def test_without_mmcv_one_line_says_what_to_install():
    result = python(HIDE_MMCV + 'import fan_dense')
    assert result.stderr.splitlines() == [
        "mmcv is not installed: pip install 'fan_dense[lite]' (mmcv-lite 2.1.0, no compiler needed), "
        'or a compiled mmcv >= 2.0.0rc4, < 2.2.0'
    ]
    failed = python(HIDE_MMCV + 'import fan_dense, mmcv.ops', check=False).stderr.splitlines()
    assert failed[-1] == f'ModuleNotFoundError: {result.stderr.strip()}'


def test_finder_is_installed_once():
    fan_dense.stand_in.install()
    assert sum(isinstance(finder, fan_dense.stand_in.StandInFinder) for finder in sys.meta_path) == 1


def test_no_other_module_is_found():
    with pytest.raises(ModuleNotFoundError, match='mmcv._other'):
        __import__('mmcv._other')


def test_mmengine_sees_a_full_mmcv():
    from mmengine.utils.dl_utils import mmcv_full_available

    assert mmcv_full_available()


def test_learning_rate_of_deformable_offsets_is_honoured():
    """mmengine ignores ``dcn_offset_lr_mult`` without a word if it takes the extension for absent."""
    from mmcv.ops import DeformConv2dPack, ModulatedDeformConv2dPack
    from mmengine.optim import DefaultOptimWrapperConstructor
    from torch import nn

    model = nn.Sequential(DeformConv2dPack(2, 2, 3), ModulatedDeformConv2dPack(2, 2, 3), nn.Conv2d(2, 2, 3))
    build = DefaultOptimWrapperConstructor(
        {'type': 'OptimWrapper', 'optimizer': {'type': 'SGD', 'lr': 1.0}}, {'dcn_offset_lr_mult': 0.1}
    )
    rates = {id(p): group['lr'] for group in build(model).param_groups for p in group['params']}
    for name, parameter in model.named_parameters():
        assert rates[id(parameter)] == pytest.approx(0.1 if 'conv_offset' in name else 1.0), name
