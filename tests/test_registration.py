"""Whatever is imported first, mmdet and mmseg find our models, and no module is used half imported."""

import os
import subprocess
import sys

import pytest

from fan_dense.registration import FOLLOWS

# the models of either package, when all is imported
FOUND = """
import mmdet.models, mmdet.registry, mmseg.models, mmseg.registry, mmengine.registry
for registry in (mmdet.registry, mmseg.registry, mmengine.registry):
    assert registry.MODELS.get('FAN').__module__.startswith('fan_dense.models'), registry
"""


def python(code, *args):
    """What a new process with ``code`` prints."""
    environment = os.environ | {'OMP_NUM_THREADS': '1'}
    run = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code, *map(str, args)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_import_is_light():
    """Milliseconds, and nothing of torch or OpenMMLab."""
    output = python(
        'import sys, time; start = time.process_time(); import fan_dense; print(time.process_time() - start);'
        "print(*{'torch', 'numpy', 'cv2', 'mmengine', 'mmcv', 'mmdet', 'mmseg'}.intersection(sys.modules))"
    )
    seconds, loaded = output.split('\n')[:2]
    assert float(seconds) < 0.5  # 0.07 on the machine where it was written
    assert loaded == ''


@pytest.mark.parametrize(('module', 'host'), FOLLOWS.items())
def test_each_module_comes_with_its_host(module, host):
    """Right after its host, which is the first import, our module is there, complete."""
    python(
        'import importlib, sys, fan_dense\n'
        'module, host = sys.argv[1:]\n'
        'assert module not in sys.modules\n'
        'importlib.import_module(host)\n'
        'assert module in sys.modules\n'
        'half = [name for name, found in sys.modules.items()\n'
        "        if name.startswith('fan_dense') and getattr(found.__spec__, '_initializing', False)]\n"
        'assert not half, half',
        module,
        host,
    )


@pytest.mark.parametrize(
    'imports',
    [
        'import mmengine.runner, mmcv.transforms, mmdet.registry; import fan_dense',
        # an mmcv without operators fails here, one with them does not
        'try:\n    import mmdet.models, mmseg.models\nexcept ModuleNotFoundError:\n    pass\nimport fan_dense',
    ],
    ids=['between', 'last'],
)
def test_orders(imports):
    python(imports + FOUND)


def test_custom_imports_of_a_config(tmp_path):
    """All that a config needs; here before anything else of OpenMMLab but its configs."""
    (tmp_path / 'config.py').write_text("custom_imports = dict(imports=['fan_dense'], allow_failed_imports=False)\n")
    python(
        f'import sys; from mmengine.config import Config; Config.fromfile(sys.argv[1]){FOUND}', tmp_path / 'config.py'
    )


def test_workers_that_are_spawned(tmp_path):
    """A worker that starts anew reads a data set of ours, and with it mmdet, whose masks need an operator."""
    script = tmp_path / 'script.py'
    script.write_text(
        'import fan_dense\n'
        'from torch.utils.data import DataLoader\n'
        'class Operators:\n'
        '    def __len__(self):\n'
        '        return 2\n'
        '    def __getitem__(self, index):\n'
        '        import mmdet.structures.mask\n'
        '        return index\n'
        "if __name__ == '__main__':\n"
        "    loader = DataLoader(Operators(), num_workers=1, multiprocessing_context='spawn')\n"
        '    print(sum(batch.item() for batch in loader))'
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.stdout == '1\n', run.stderr
