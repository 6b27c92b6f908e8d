"""The published names in timm, used as timm's train.py and validate.py use models."""

import copy
import functools
import logging
from argparse import Namespace

import pytest
import timm
import torch
from timm.data import resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy
from timm.models import load_checkpoint, resume_checkpoint
from timm.optim import create_optimizer_v2
from timm.utils import CheckpointSaver, ModelEmaV3
from torch import nn
from torchvision.ops import StochasticDepth

import fan_dense.models.timm_models  # noqa: F401  (as fan_dense does by itself when timm is imported after it)
from fan_dense.models import FAN, SAN, FANClassifier, FANSwin, FANSwinClassifier, SANClassifier
from fan_dense.models.catalogue import ARCHITECTURES
from fan_dense.models.loading import CheckpointMismatch
from tests.models.published_files import old_names, save
from tests.models.small import image

HYBRID, VIT, SWIN = 'fan_small_12_p4_hybrid', 'fan_small_12_p16_224', 'fan_swin_tiny_patch4_window7_224'
PAIRWISE = 'san10_pairwise'
# name -> what makes it small, and our classifier and backbone with that
SMALL = {
    HYBRID: dict(embed_dims=24, depth=3, num_heads=2, stem_depths=(1, 1), stem_dims=(8, 16)),
    VIT: dict(embed_dims=24, depth=3, num_heads=2),
    SWIN: dict(embed_dims=8, depths=(2, 2, 1, 2), num_heads=(1, 2, 4, 4)),
    PAIRWISE: dict(depths=(1, 2, 1, 1, 1), dims=(32, 32, 32, 32, 64)),
}
OURS = {
    HYBRID: (functools.partial(FANClassifier, 'hybrid-small'), functools.partial(FAN, 'hybrid-small', pos_floor=True)),
    VIT: (functools.partial(FANClassifier, 'vit-small'), functools.partial(FAN, 'vit-small', pos_floor=True)),
    SWIN: (FANSwinClassifier, FANSwin),
    PAIRWISE: (SANClassifier, SAN),
}
FIRST_AND_LAST = {
    HYBRID: ('patch_embed.backbone.stem.0.weight', 'head.weight'),
    VIT: ('patch_embed.proj.0.0.weight', 'head.weight'),
    SWIN: ('patch_embed.proj.weight', 'head.weight'),
    PAIRWISE: ('conv_in.weight', 'fc.weight'),
}


def create(name: str, **options) -> nn.Module:
    return timm.create_model(name, **SMALL[name], **options)


@pytest.fixture(params=SMALL)
def name(request) -> str:
    return request.param


def test_all_published_names_build():
    names = [row.published for row in ARCHITECTURES.values() if row.published]
    assert set(names) == {*timm.list_models('fan_*'), *timm.list_models('san*')}
    with torch.device('meta'):
        for name in names:
            model, features = timm.create_model(name, num_classes=10), timm.create_model(name, features_only=True)
            assert model.get_submodule(model.default_cfg['classifier']) is model.get_classifier()
            assert model.get_classifier().out_features == 10
            for network in (model, features):
                assert network.get_submodule(network.default_cfg['first_conv']).weight.shape[1] == 3


def test_logits_are_those_of_our_classifier(name):
    ours, theirs = OURS[name][0](num_classes=5, **SMALL[name]).eval(), create(name, num_classes=5).eval()
    theirs.load_state_dict(ours.state_dict())
    expected = ours(image(64, 96))
    torch.testing.assert_close(theirs(image(64, 96)), expected, rtol=0, atol=0)
    features = theirs.forward_features(image(64, 96))
    torch.testing.assert_close(theirs.forward_head(features), expected, rtol=0, atol=0)
    pooled = theirs.forward_head(features, pre_logits=True)
    assert pooled.shape == (2, theirs.num_features)
    torch.testing.assert_close(theirs.get_classifier()(pooled), expected, rtol=0, atol=0)


def test_features_are_those_of_our_backbone(name):
    ours, theirs = OURS[name][1](**SMALL[name]).eval(), create(name, features_only=True).eval()
    theirs.load_state_dict(ours.state_dict())
    maps = ours(image(64, 96))
    for given, expected in zip(theirs(image(64, 96)), maps, strict=True):
        assert torch.equal(given, expected)
    assert theirs.feature_info.channels() == [*ours.out_channels]
    assert theirs.feature_info.reduction() == [*ours.out_strides]
    for chosen, indices in (((2, 0), (2, 0)), ((-1,), (-1,)), (2, (-2, -1))):
        some = create(name, features_only=True, out_indices=chosen).eval()
        some.load_state_dict(ours.state_dict())
        for given, index in zip(some(image(64, 96)), indices, strict=True):
            assert torch.equal(given, maps[index])
        assert some.feature_info.channels() == [ours.out_channels[index] for index in indices]
        assert some.feature_info.out_indices == tuple(index % len(maps) for index in indices)


def test_last_layer_can_be_replaced_or_left_out(name):
    model = create(name).eval()
    assert (model.num_classes, model.get_classifier().out_features) == (1000, 1000)
    pooled = model.forward_head(model.forward_features(image(64, 96)), pre_logits=True)
    model.reset_classifier(7)
    assert (model.num_classes, model(image(64, 96)).shape) == (7, (2, 7))
    model.reset_classifier(0)
    assert torch.equal(model(image(64, 96)), pooled)
    model.reset_classifier(0, '')
    assert torch.equal(model(image(64, 96)), model.forward_features(image(64, 96)))
    assert create(name, num_classes=0)(image(64, 96)).shape == (2, model.num_features)
    with pytest.raises(ValueError, match="global_pool must be '(token|avg)', or '' for none, not 'max'"):
        create(name, global_pool='max')


def test_channels_of_the_image(name):
    assert create(name, in_chans=5)(torch.randn(2, 5, 64, 64)).shape == (2, 1000)
    assert create(name, in_chans=1, features_only=True)(torch.randn(2, 1, 64, 64))[0].shape[0] == 2


def test_dropout(name):
    model = create(name, drop_rate=0.5)
    model.eval()
    features = model.forward_features(image(64, 64))
    model.head_drop.train()
    dropped = (model.forward_head(features, pre_logits=True) == 0).float().mean().item()
    assert dropped == pytest.approx(0.5, abs=0.35)
    if name == PAIRWISE:
        for option in ('drop_rate', 'drop_path_rate'):
            with pytest.raises(ValueError, match=f"SAN has no option '{option}'"):
                create(name, **{option.replace('drop_rate', 'proj_drop_rate'): 0.1})
    else:
        model = create(name, drop_path_rate=0.2, proj_drop_rate=0.3, attn_drop_rate=0.4)
        assert max(module.p for module in model.modules() if isinstance(module, StochasticDepth)) == pytest.approx(0.2)
        assert {0.0, 0.3} <= {module.p for module in model.modules() if isinstance(module, nn.Dropout)}  # 0.0: the head


def test_preparation_of_images(name):
    config = resolve_data_config({}, model=create(name))
    assert config['input_size'] == (3, 224, 224)
    assert config['mean'] == (0.485, 0.456, 0.406)
    assert config['std'] == (0.229, 0.224, 0.225)
    assert config['crop_pct'] == {HYBRID: 1.0, VIT: 1.0, SWIN: 0.9, PAIRWISE: 0.875}[name]
    assert resolve_data_config(dict(img_size=384), model=create(name))['input_size'] == (3, 384, 384)


def test_weight_decay_and_layer_decay(name):
    model = create(name)
    optimizer = create_optimizer_v2(model, opt='adamw', lr=1e-3, weight_decay=0.05, layer_decay=0.5)
    groups = {id(value): group for group in optimizer.param_groups for value in group['params']}
    parameters = dict(model.named_parameters())
    assert len(groups) == len(parameters)
    group = {key: groups[id(value)] for key, value in parameters.items()}
    for key, value in parameters.items():
        special = key.startswith('pos_embed.') or key.endswith(('cls_token', 'temperature', 'bias_table'))
        assert group[key]['weight_decay'] == (0 if special or value.ndim == 1 else 0.05), key
    first, last = FIRST_AND_LAST[name]
    scales = sorted({group[key]['lr_scale'] for key in parameters})
    assert group[last]['lr_scale'] == scales[-1] == 1
    assert group[first]['lr_scale'] == scales[0]
    blocks = sum(len(getattr(part, 'blocks', [])) for part in [model, *getattr(model, 'layers', [])])
    blocks = blocks or sum(model.arch.depths)
    assert len(scales) == 1 + blocks + (2 if name in (HYBRID, VIT) else 0) + 1  # stem, blocks, class attention, head


def test_checkpointing_changes_nothing(name):
    model, x = create(name, **({} if name == PAIRWISE else dict(drop_path_rate=0.2))), image(64, 64)
    other = copy.deepcopy(model)
    other.set_grad_checkpointing()
    assert any(module.with_cp for module in other.modules() if hasattr(module, 'with_cp'))
    for network in (model, other):
        torch.manual_seed(0)
        network(x).square().mean().backward()
    for (key, value), same in zip(model.named_parameters(), other.parameters()):
        assert torch.equal(value.grad, same.grad), key
    other.set_grad_checkpointing(False)
    assert not any(module.with_cp for module in other.modules() if hasattr(module, 'with_cp'))


def test_training_as_timm_does_it(name, tmp_path):
    """Two steps, averaged weights, a checkpoint, and on from there; then validation of both kinds of weights."""
    torch.manual_seed(0)
    model, x, target = create(name, num_classes=5), image(64, 64), torch.tensor([1, 3])
    optimizer = create_optimizer_v2(model, opt='adamw', lr=1e-3, weight_decay=0.05)
    average, loss = ModelEmaV3(model, decay=0.5), LabelSmoothingCrossEntropy()

    def step(network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        torch.manual_seed(0)
        optimizer.zero_grad()
        loss(network.train()(x), target).backward()
        optimizer.step()

    for _ in range(2):
        step(model, optimizer)
        average.update(model)
    args = Namespace(model=name)
    saver = CheckpointSaver(model, optimizer, args, average, checkpoint_dir=tmp_path, recovery_dir=tmp_path)
    saver.save_checkpoint(epoch=0)
    resumed = create(name, num_classes=5)
    resumed_optimizer = create_optimizer_v2(resumed, opt='adamw', lr=1e-3, weight_decay=0.05)
    assert resume_checkpoint(resumed, tmp_path / 'last.pth.tar', resumed_optimizer) == 1
    validated = create(name, num_classes=5)
    for use_ema, expected in ((False, model), (True, average.module)):
        load_checkpoint(validated, str(tmp_path / 'last.pth.tar'), use_ema)
        assert torch.equal(validated.eval()(x), expected.eval()(x))
    step(model, optimizer)
    step(resumed, resumed_optimizer)
    assert torch.equal(resumed.eval()(x), model.eval()(x))


@pytest.fixture
def classifier(name) -> nn.Module:
    torch.manual_seed(0)
    return OURS[name][0](num_classes=5, **SMALL[name]).eval()


@pytest.fixture
def checkpoint(classifier, tmp_path) -> str:
    """A file as published: FAN's with old names, FAN-Swin's with tables."""
    weights = dict(classifier.state_dict())
    if isinstance(classifier, FANClassifier):
        weights = old_names(weights)
    if isinstance(classifier, FANSwinClassifier):
        weights['layers.0.blocks.1.attn_mask'] = torch.zeros(4, 49, 49)
    return save(weights, tmp_path / 'published.pth.tar')


def test_published_files_are_taken(name, classifier, checkpoint):
    x = image(64, 96)
    model = create(name, num_classes=5, checkpoint_path=checkpoint).eval()
    assert torch.equal(model(x), classifier(x))
    load_checkpoint(model, checkpoint)  # as validate.py
    assert torch.equal(model(x), classifier(x))
    features = create(name, features_only=True, checkpoint_path=checkpoint).eval()
    ours = OURS[name][1](**SMALL[name]).eval()
    if name == SWIN:  # whose maps have norms of their own, which a classifier has not
        assert torch.equal(features.trunk(x)[-1], classifier.trunk(x)[-1])
    else:
        ours.load_published(checkpoint)
        assert all(torch.equal(given, expected) for given, expected in zip(features(x), ours(x)))


def test_published_files_for_other_classes_or_channels(name, classifier, checkpoint):
    """What timm does to pretrained weights, of which only the place is not known to it."""
    options = dict(pretrained=True, pretrained_cfg_overlay=dict(file=checkpoint, num_classes=5))
    model = create(name, num_classes=3, in_chans=1, **options).eval()
    first, last = FIRST_AND_LAST[name]
    own, given = model.state_dict(), classifier.state_dict()
    torch.testing.assert_close(own[first], given[first].sum(1, keepdim=True))
    changed = {first, last, last.replace('weight', 'bias')}
    assert own.keys() == given.keys()
    assert all(torch.equal(own[key], given[key]) for key in own.keys() - changed)


def test_files_of_other_networks_are_refused_in_one_line(name, checkpoint):
    with pytest.raises(CheckpointMismatch, match=r'does not fit: .* \(5, \d+\) instead of \(7, \d+\)') as error:
        create(name, num_classes=7, checkpoint_path=checkpoint)
    assert '\n' not in str(error.value)
    other = PAIRWISE if name == HYBRID else HYBRID
    with pytest.raises(CheckpointMismatch, match='does not fit') as error:
        create(other, num_classes=5, checkpoint_path=checkpoint)
    assert '\n' not in str(error.value)


def test_weights_by_name_are_refused_in_one_line(name):
    with pytest.raises(ValueError, match=rf'no weights of {name} to fetch: .* \(--initial-checkpoint\)') as error:
        create(name, pretrained=True)
    assert '\n' not in str(error.value)


def test_our_options_are_options(caplog):
    with caplog.at_level(logging.WARNING):
        model = create(VIT, channel='ca', channel_heads=3, norm_cfg=dict(type='GN', num_groups=1), with_cp=True)
    assert model.blocks[0].mlp.channel_weights(torch.randn(1, 2, 2, 24)).shape == (1, 3, 8, 8)
    assert not caplog.records
    with pytest.raises(ValueError, match="FAN has no option 'chanel'; its arch has channel, "):
        create(VIT, chanel='ca')


def test_the_name_with_a_capital():
    with torch.device('meta'), pytest.warns(UserWarning, match='fan_Xlarge_16_p4_hybrid'):
        model = timm.create_model('fan_xlarge_16_p4_hybrid')
    assert model.num_features == 768
