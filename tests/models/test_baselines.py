import pytest
import timm
import torch
from mmengine.registry import MODELS

from fan_dense.models import TimmBackbone
from fan_dense.models.loading import CheckpointMismatch
from tests.models.small import image

# small networks of the kinds that the baselines are: names and options of timm, and maps to take
NETWORKS = {
    'convnext': ('convnext_tiny', dict(depths=(1, 1, 2, 1), dims=(8, 16, 24, 32)), (0, 1, 2, 3)),
    'vit': ('deit_small_patch16_224', dict(embed_dim=32, depth=4, num_heads=2), (1, 3)),
    'resnet': ('resnet18', {}, (1, 4)),
}
ANY_SIZE = dict(dynamic_img_size=True, dynamic_img_pad=True)


def build(kind, **changes):
    name, options, indices = NETWORKS[kind]
    torch.manual_seed(0)
    return TimmBackbone(name, **{'out_indices': indices, 'options': options, **changes})


def classifier(kind):
    name, options, _ = NETWORKS[kind]
    torch.manual_seed(1)
    return timm.create_model(name, **options)


@pytest.fixture
def checkpoint(tmp_path):
    def save(weights, name='weights.pth'):
        torch.save(weights, tmp_path / name)
        return str(tmp_path / name)

    return save


@pytest.mark.parametrize('kind', NETWORKS)
def test_maps_are_those_of_timm(kind, checkpoint):
    """With the weights of a classifier, loaded from a file as timm's trainer writes it."""
    name, options, indices = NETWORKS[kind]
    whole = classifier(kind)
    net = build(kind)
    report = net.load_published(checkpoint({'state_dict': whole.state_dict(), 'epoch': 1}))
    assert report.share == 1
    assert report.missing == report.wrong == []
    theirs = timm.create_model(name, features_only=True, out_indices=indices, **options)
    inner = getattr(theirs, 'model', theirs)
    rename = {key.replace('stages_', 'stages.').replace('stem_', 'stem.'): key for key in inner.state_dict()}
    inner.load_state_dict({rename[key]: value for key, value in whole.state_dict().items() if key in rename})
    with torch.no_grad():
        expected, maps = theirs.eval()(image(224, 224)), net.eval()(image(224, 224))
    assert net.out_channels == tuple(theirs.feature_info.channels())
    assert net.out_strides == tuple(theirs.feature_info.reduction())
    for one, other, stride in zip(maps, expected, net.out_strides):
        assert one.shape[2:] == (224 // stride, 224 // stride)
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize('kind', NETWORKS)
@pytest.mark.parametrize('size', [(64, 96), (65, 97), (33, 130)])
def test_any_size_and_every_parameter_gets_a_gradient(kind, size):
    net = build(kind, options=NETWORKS[kind][1] | (ANY_SIZE if kind == 'vit' else {}))
    maps = net(image(*size))
    assert [x.shape[1] for x in maps] == list(net.out_channels)
    sum(x.square().mean() for x in maps).backward()
    assert not [name for name, value in net.named_parameters() if value.grad is None or not value.grad.isfinite().all()]


@pytest.mark.parametrize('kind', ['convnext', 'vit'])
def test_checkpointing_changes_nothing(kind):
    gradients = []
    for with_cp in (False, True):
        net = build(kind, with_cp=with_cp, options=NETWORKS[kind][1] | (ANY_SIZE if kind == 'vit' else {}))
        sum(x.square().mean() for x in net(image(64, 96))).backward()
        gradients.append({name: value.grad for name, value in net.named_parameters()})
    for name, value in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], value)


def test_maps_in_the_order_that_is_asked_for():
    ascending, asked = build('convnext'), build('convnext', out_indices=(-1, 0))
    assert asked.out_channels == (32, 8)
    with torch.no_grad():
        first, *_, last = ascending.eval()(image(64, 64))
        for one, other in zip(asked.eval()(image(64, 64)), (last, first)):
            torch.testing.assert_close(one, other)


ALL_STAGES = {
    'convnext': ('stem', 'stages.0', 'stages.1', 'stages.2', 'stages.3'),
    'vit': ('patch_embed', 'blocks.0', 'blocks.1', 'blocks.2', 'blocks.3'),
    'resnet': ('conv1', 'bn1', 'layer1', 'layer2', 'layer3', 'layer4'),
}


@pytest.mark.parametrize(
    ('kind', 'stages', 'trained'),
    [
        ('convnext', -1, {'stem', 'stages.0', 'stages.1', 'stages.2', 'stages.3'}),
        ('convnext', 0, {'stages.0', 'stages.1', 'stages.2', 'stages.3'}),
        ('convnext', 2, {'stages.2', 'stages.3'}),
        ('vit', 0, {'blocks.0', 'blocks.1', 'blocks.2', 'blocks.3'}),
        ('vit', 3, {'blocks.3'}),
        ('resnet', 1, {'layer1', 'layer2', 'layer3', 'layer4'}),
        ('resnet', 3, {'layer3', 'layer4'}),
        ('resnet', 5, set()),
    ],
)
def test_frozen_stages(kind, stages, trained):
    net = build(kind, frozen_stages=stages).train()
    parts = {name: net.network.get_submodule(name) for name in ALL_STAGES[kind]}
    found = {name for name, part in parts.items() if any(value.requires_grad for value in part.parameters())}
    assert found == trained == {name for name, part in parts.items() if part.training}
    for name, part in parts.items():  # wholly or not at all
        assert {value.requires_grad for value in part.parameters()} == {name in trained}
    if kind == 'vit':
        assert net.network.pos_embed.requires_grad == net.network.cls_token.requires_grad == (stages < 0)


def test_norm_eval():
    net = build('resnet', norm_eval=True).train()
    assert net.network.layer1.training
    assert not net.network.layer1[0].bn1.training


# names in the files of ConvNeXt's authors
FACEBOOK = {
    'stem.': 'downsample_layers.0.',
    'blocks.': '',
    'conv_dw': 'dwconv',
    'mlp.fc1': 'pwconv1',
    'mlp.fc2': 'pwconv2',
    'head.norm.': 'norm.',
    'head.fc.': 'head.',
}


def test_the_file_of_convnexts_authors(checkpoint):
    whole = classifier('convnext')
    weights = {}
    for key, value in whole.state_dict().items():
        parts = key.split('.')
        if parts[2:3] == ['downsample']:
            weights[f'downsample_layers.{parts[1]}.{".".join(parts[3:])}'] = value
            continue
        for theirs, ours in FACEBOOK.items():
            key = key.replace(theirs, ours)
        weights[key] = value
    assert 'stages.2.1.pwconv1.weight' in weights
    net = build('convnext', out_indices=(0, 2), init_cfg=dict(type='Pretrained', checkpoint=checkpoint(weights)))
    net.init_weights()
    for key, value in net.network.state_dict().items():
        assert torch.equal(value, whole.state_dict()[key])


def test_our_own_checkpoint(checkpoint):
    """Of a detector: the backbone's weights under our names."""
    net, other = build('vit'), build('vit')
    for value in other.parameters():
        torch.nn.init.normal_(value)
    file = checkpoint({'state_dict': {f'backbone.{key}': value for key, value in other.state_dict().items()}})
    assert net.load_published(file).share == 1
    assert all(torch.equal(value, other.state_dict()[key]) for key, value in net.state_dict().items())


def test_a_checkpoint_of_another_network_is_refused(checkpoint):
    with pytest.raises(CheckpointMismatch, match='is it of another arch'):
        build('convnext').load_published(checkpoint(classifier('resnet').state_dict()))


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(model_name='convnext_tny'), r"no model 'convnext_tny'; the nearest names: convnext_tiny, "),
        (
            dict(model_name='convnext_tiny', options=dict(width=3)),
            "convnext_tiny .* unexpected keyword argument 'width'",
        ),
        (dict(model_name='convnext_tiny', out_indices=(4,)), 'out_indices must be some of 0, 1, 2, 3, not'),
        (dict(model_name='convnext_tiny', frozen_stages=5), 'frozen_stages must be between -1 and 4, not 5'),
    ],
)
def test_bad_arguments(arguments, message):
    with torch.device('meta'), pytest.raises(ValueError, match=message):
        TimmBackbone(**arguments)


def test_a_network_without_maps(monkeypatch):
    monkeypatch.setattr(timm, 'create_model', lambda *_, **__: torch.nn.Identity())
    with pytest.raises(ValueError, match='resnet18 of timm gives no intermediate features'):
        TimmBackbone('resnet18')


def test_it_is_registered():
    assert MODELS.get('TimmBackbone') is TimmBackbone
