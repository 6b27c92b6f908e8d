"""tools/convert_checkpoint.py: what it writes, what it says, and what it refuses."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fan_dense
from fan_dense.models import FAN
from tests.models.published_files import old_names, ruled, save, shaped
from tests.reference import ROOT


@pytest.fixture
def source(tmp_path) -> Path:
    return Path(save(old_names(shaped('cls_fan_tiny_8_p4_hybrid')), tmp_path / 'fan_hybrid_tiny.pth.tar'))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_published_file(command, tmp_path):
    weights = ruled('cls_fan_tiny_8_p4_hybrid')
    source = Path(save(old_names(weights), tmp_path / 'fan_hybrid_tiny.pth.tar'))
    code, out, err = command('convert_checkpoint', source, 'new/tiny.pth', '--sha256', digest(source))
    assert code == 0, err
    assert f'{source} (SHA-256 {digest(source)})\nloaded 355 keys, 100.0% of the values, from state_dict\n' in out
    assert out.endswith(
        "new/tiny.pth: classifier of hybrid-tiny, for\nmodel=dict(type='FANClassifier', arch='hybrid-tiny', "
        'num_classes=1000)\n'
    )
    content = torch.load(tmp_path / 'new' / 'tiny.pth', weights_only=True)
    assert content.keys() == {'state_dict', 'meta'}
    assert content['meta'] == dict(
        arch='hybrid-tiny',
        kind='classifier',
        source=str(source),
        source_sha256=digest(source),
        entry='state_dict',
        fan_dense=fan_dense.__version__,
    )
    torch.testing.assert_close(content['state_dict'], weights, rtol=0, atol=0)
    net = FAN('hybrid-tiny', init_cfg=dict(type='Pretrained', checkpoint=str(tmp_path / 'new' / 'tiny.pth')))
    net.init_weights()
    assert torch.equal(net.blocks[7].gamma1, weights['blocks.7.gamma1'])


def test_its_backbone_alone(command, source):
    code, out, _ = command('convert_checkpoint', source, 'x.pth', '--to', 'backbone', '--arch', 'hybrid-tiny')
    assert code == 0
    assert '\ndropped (23): cls_token, ' in out
    assert "\nbackbone=dict(type='FAN', arch='hybrid-tiny')\n" in out


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--arch', 'hybrid-large'], 'is it of another arch?'),
        (['--arch', 'hybrid-tinny'], "unknown architecture 'hybrid-tinny'; known: hybrid-tiny, "),
        (['--to', 'segformer'], 'is of a classifier, not of a segformer'),
        (['--to', 'mask-rccn'], "unknown kind 'mask-rccn'; known: classifier, "),
        (['--sha256', '0' * 64], 'is not the file that was asked for: its SHA-256 is '),
        (['--sha256', 'xyz'], "must be 8 to 64 hexadecimal digits, not 'xyz'"),
        (['--ema'], 'holds no averaged weights'),
    ],
)
def test_refusals_write_nothing(command, source, tmp_path, options, message):
    code, _, err = command('convert_checkpoint', source, 'x.pth', *options)
    assert code == 2
    assert err.startswith('error: ')
    assert err.count('\n') == 1
    assert message in err
    assert '--traceback' not in err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_nothing_is_overwritten_unasked(command, source, tmp_path):
    (tmp_path / 'x.pth').write_text('mine')
    code, _, err = command('convert_checkpoint', source, 'x.pth')
    assert code == 2
    assert 'x.pth exists already: --overwrite replaces it, another DST writes elsewhere' in err
    assert (tmp_path / 'x.pth').read_text() == 'mine'
    assert command('convert_checkpoint', source, 'x.pth', '--overwrite')[0] == 0
    assert torch.load(tmp_path / 'x.pth', weights_only=True)['meta']['arch'] == 'hybrid-tiny'


@pytest.mark.parametrize('content', [b'<html>404</html>', b''])
def test_no_checkpoint(command, tmp_path, content):
    (tmp_path / 'x.pth.tar').write_bytes(content)
    code, _, err = command('convert_checkpoint', tmp_path / 'x.pth.tar', 'x.pth')
    assert code == 2
    assert 'x.pth.tar cannot be read as a checkpoint' in err
    assert 'none.pth does not exist' in command('convert_checkpoint', 'none.pth', 'x.pth')[2]


def test_from_the_shell(source, tmp_path):
    tool = ROOT / 'tools' / 'convert_checkpoint.py'
    done = subprocess.run(
        [sys.executable, tool, source, 'x.pth'], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert 'classifier of hybrid-tiny' in done.stdout
    assert (tmp_path / 'x.pth').exists()
