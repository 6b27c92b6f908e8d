import runpy
from pathlib import Path

import pytest

import fan_dense  # noqa: F401
from fan_dense import cli
from tests.tools import tiny

TOOLS = Path(__file__).parents[1] / 'tools'


@pytest.fixture(scope='session')
def data(tmp_path_factory):
    """Folder of the small data set; its configs are detection.py and segmentation.py."""
    root = tmp_path_factory.mktemp('tiny')
    tiny.write(root)
    return root


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Run a tool in this process, in an empty folder: ``command('train', *argv)`` -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(tool, *argv):
        script = runpy.run_path(str(TOOLS / f'{tool}.py'))
        capsys.readouterr()
        try:
            code = cli.run(script[tool], script['parse'](), [str(one) for one in argv])
        except SystemExit as stopped:
            code = stopped.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope='session')
def trained(data, tmp_path_factory):
    """Folders of two short runs: ``trained['detection']``, ``trained['segmentation']``, each with last.pth."""
    from fan_dense.training import train

    folders = {}
    for kind in ('detection', 'segmentation'):
        folders[kind] = tmp_path_factory.mktemp(kind)
        result = train(
            config=data / f'{kind}.py',
            work_dir=folders[kind],
            cfg_options={'val_evaluator': None, 'val_cfg': None, 'val_dataloader': None},
        )
        Path(result.checkpoint).rename(folders[kind] / 'last.pth')
    return folders
