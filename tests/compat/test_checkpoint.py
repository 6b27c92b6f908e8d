"""Checkpoints: mmengine's and timm's own are read, whatever else is refused in one line and never run."""

import pickle
import subprocess
import sys
import zipfile
from argparse import Namespace

import numpy as np
import pytest
import timm.utils
import torch
from mmengine.model import BaseModel, BaseModule
from mmengine.runner import Runner
from mmengine.runner.checkpoint import CheckpointLoader, load_checkpoint
from torch import nn

import fan_dense  # noqa: F401 (what puts the loaders in place, once mmengine.runner is imported)
from fan_dense.compat.checkpoint import CheckpointError


class Fit(BaseModel):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x, mode):
        return {'loss': self.linear(torch.stack(x)).square().mean()}


class Points(torch.utils.data.Dataset):
    metainfo = {'classes': ('a', 'b'), 'palette': np.arange(6, dtype=np.uint8).reshape(2, 3)}

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {'x': torch.tensor([index, 1.0])}


def runner(work_dir, name, scheduler, **options):
    return Runner(
        Fit(),
        work_dir=str(work_dir),
        experiment_name=name,
        train_dataloader={
            'dataset': Points(),
            'batch_size': 2,
            'num_workers': 0,
            'sampler': {'type': 'DefaultSampler', 'shuffle': True},
        },
        train_cfg={'by_epoch': True, 'max_epochs': 3},
        optim_wrapper={'optimizer': {'type': 'AdamW', 'lr': 0.1}},
        param_scheduler=[scheduler],
        default_hooks={'checkpoint': {'type': 'CheckpointHook', 'interval': 1}},
        **options,
    )


@pytest.mark.parametrize(
    'scheduler',
    [
        {'type': 'CosineAnnealingLR', 'T_max': 3},
        {'type': 'OneCycleLR', 'eta_max': 0.1, 'total_steps': 6, 'by_epoch': False},  # pickles its annealing function
    ],
    ids=lambda scheduler: scheduler['type'],
)
def test_resume(tmp_path, scheduler):
    name = f'{tmp_path.name}-{scheduler["type"]}'
    first = runner(tmp_path, name, dict(scheduler))
    first.train()
    trusted = torch.load(tmp_path / 'epoch_2.pth', weights_only=False)  # our own: what there is to find

    second = runner(tmp_path, f'{name}-resumed', dict(scheduler), load_from=str(tmp_path / 'epoch_2.pth'), resume=True)
    second.load_or_resume()

    assert (second.epoch, second.iter) == (2, 4)
    assert trusted['state_dict'].keys() == second.model.state_dict().keys()
    for key, value in second.model.state_dict().items():
        torch.testing.assert_close(value, trusted['state_dict'][key], rtol=0, atol=0)
    for key in ('exp_avg', 'exp_avg_sq'):
        torch.testing.assert_close(
            second.optim_wrapper.optimizer.state_dict()['state'][0][key], trusted['optimizer']['state'][0][key]
        )
    history = second.message_hub.log_scalars['train/loss']
    for found, expected in zip(history.data, trusted['message_hub']['log_scalars']['train/loss'].data):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
    assert history.statistics('mean') == history.data[0].mean()
    np.testing.assert_array_equal(second.message_hub.get_info('dataset_meta')['palette'], Points.metainfo['palette'])

    second.train()  # and goes on, in the same state
    assert second.iter == 6
    assert second.param_schedulers[0].last_step == first.param_schedulers[0].last_step
    assert len(second.message_hub.log_scalars['train/loss'].data[0]) == 6


VALUES = [
    *(
        np.arange(6).reshape(2, 3).astype(code)
        for code in ('f2', 'f4', 'f8', 'i1', 'i8', 'u2', 'b1', 'c16', 'S2', 'U3')
    ),
    np.arange(6, dtype='>i4').reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 3)),
    np.array(1.5),
    np.float32(0.1),
    np.int64(-3),
    np.bool_(True),
    np.str_('weights'),
]


@pytest.mark.parametrize('module', ['numpy.core', 'numpy._core'], ids=['numpy 1', 'numpy 2'])
def test_numpy_values_of_either_numpy(tmp_path, module):
    torch.save({'values': VALUES, 'nested': ({'x': [VALUES[0]]}, Namespace(y=VALUES[1]))}, tmp_path / 'saved.pth')
    rename(tmp_path / 'saved.pth', tmp_path / 'checkpoint.pth', module)
    loaded = CheckpointLoader.load_checkpoint(str(tmp_path / 'checkpoint.pth'))
    for found, expected in zip(loaded['values'], VALUES, strict=True):
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(loaded['nested'][0]['x'][0], VALUES[0])
    np.testing.assert_array_equal(loaded['nested'][1].y, VALUES[1])
    loaded['values'][0][0, 0] = 7  # writable, as numpy's own are


def rename(source, target, module):
    """Copy a checkpoint, with the functions of numpy under ``module``, as the other numpy would have written it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, 'w') as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith('data.pkl'):
                assert b'cnumpy._core.multiarray\n' in data or b'cnumpy.core.multiarray\n' in data
                for core in (b'numpy._core', b'numpy.core'):
                    data = data.replace(b'c' + core + b'.multiarray\n', b'c' + module.encode() + b'.multiarray\n')
            new.writestr(name, data)


def test_timm(tmp_path):
    model = nn.Linear(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    args = Namespace(model='linear', lr=0.1, betas=[0.9, 0.99])
    saver = timm.utils.CheckpointSaver(model, optimizer, args=args, checkpoint_dir=tmp_path, recovery_dir=tmp_path)
    saver.save_checkpoint(0, metric=0.5)
    target = nn.Linear(2, 3)
    checkpoint = load_checkpoint(target, str(tmp_path / 'last.pth.tar'), strict=True)
    assert checkpoint['args'] == args
    torch.testing.assert_close(target.weight, model.weight, rtol=0, atol=0)


def test_init_cfg(tmp_path):
    class Net(BaseModule):
        def __init__(self, init_cfg=None):
            super().__init__(init_cfg)
            self.linear = nn.Linear(2, 3)

    source = Net()
    path = tmp_path / 'pretrained.pth'
    torch.save({'state_dict': source.state_dict(), 'meta': {'score': np.float64(0.5)}}, path)
    target = Net(init_cfg={'type': 'Pretrained', 'checkpoint': str(path)})
    target.init_weights()
    torch.testing.assert_close(target.linear.weight, source.linear.weight, rtol=0, atol=0)


def test_legacy_format(tmp_path):
    path = tmp_path / 'legacy.pth'
    torch.save({'weight': torch.ones(2), 'score': np.float64(0.5)}, path, _use_new_zipfile_serialization=False)
    loaded = CheckpointLoader.load_checkpoint(str(path))
    assert loaded['score'] == 0.5
    torch.testing.assert_close(loaded['weight'], torch.ones(2))


class Call:
    """Pickled as a call of ``function(*args)``."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def refusal(path) -> str:
    with pytest.raises(CheckpointError) as caught:
        CheckpointLoader.load_checkpoint(str(path))
    message = str(caught.value)
    assert str(path) in message
    assert '\n' not in message
    assert 'arbitrary code' not in message  # torch's advice to switch the check off
    return message


@pytest.mark.parametrize('new_format', [True, False], ids=['zip', 'legacy'])
def test_foreign_code_is_refused_by_name_and_not_run(tmp_path, new_format):
    import os

    proof = tmp_path / 'executed'
    path = tmp_path / 'evil.pth'
    harmful = Call(os.system, f'touch {proof}')
    torch.save({'state_dict': {}, 'meta': harmful}, path, _use_new_zipfile_serialization=new_format)
    assert f'{os.system.__module__}.system' in refusal(path)
    assert not proof.exists()
    torch.load(path, weights_only=False)  # it would have
    assert proof.exists()


@pytest.mark.parametrize(
    ('harmful', 'named'),
    [
        (Call(eval, '1 + 1'), 'eval'),
        (Call(subprocess.check_output, 'true'), 'check_output'),
        (Call(getattr, nn.Linear, '__init__'), 'torch.nn.modules.linear.Linear'),
        (Call(getattr, dict, 'fromkeys'), 'dict'),
        (Call(getattr, Namespace, '__init__'), '__init__'),
        # numpy would take these bytes for the address of a Python object
        (Call(np.ndarray, (1,), 'O', b'\0' * 8), 'PickledArray'),
        (np.array([None, 1], dtype=object), "'O8'"),
        (np.zeros(2, dtype=[('x', 'f4'), ('y', 'i4')]), "'V8'"),
    ],
    ids=['eval', 'subprocess', 'unknown class', 'builtin', 'attribute', 'address', 'objects', 'records'],
)
def test_what_is_not_on_the_list_is_refused(tmp_path, harmful, named):
    torch.save({'state_dict': {}, 'extra': harmful}, tmp_path / 'evil.pth')
    assert named in refusal(tmp_path / 'evil.pth')


def test_damaged_files(tmp_path):
    path = tmp_path / 'damaged.pth'
    torch.save({'weight': torch.arange(1000.0), 'score': np.float64(0.5)}, path)
    whole = path.read_bytes()
    for size in (0, 1, 10, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refusal(path)
    for content in (b'<html>404 not found</html>', b'hello\n', pickle.dumps({'weight': [1.0]}, protocol=4), bytes(999)):
        path.write_bytes(content)
        refusal(path)
    torch.jit.script(nn.Linear(2, 2)).save(path)
    refusal(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match='absent.pth'):
        CheckpointLoader.load_checkpoint(str(tmp_path / 'absent.pth'))


def test_the_list_is_not_left_behind(tmp_path):
    before = set(torch.serialization.get_safe_globals())
    torch.save({'score': np.float64(0.5)}, tmp_path / 'checkpoint.pth')
    CheckpointLoader.load_checkpoint(str(tmp_path / 'checkpoint.pth'))
    assert set(torch.serialization.get_safe_globals()) == before
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / 'checkpoint.pth', weights_only=True)


def test_needed_by_this_mmengine_and_torch(tmp_path):
    """Without fan_dense the checkpoint does not load. Once it does, this module has no purpose any more."""
    torch.save({'score': np.float64(0.5)}, tmp_path / 'checkpoint.pth')
    script = 'import sys; from mmengine.runner.checkpoint import CheckpointLoader as c; c.load_checkpoint(sys.argv[1])'
    run = subprocess.run(
        [sys.executable, '-c', script, tmp_path / 'checkpoint.pth'], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert 'UnpicklingError' in run.stderr
