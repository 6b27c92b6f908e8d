"""Traps that benchmarks of robustness fell into: each has a test that fails if it is there again.

1. Clean images scored as corrupted ones. The pixels tell, not the configuration.
   tests/evaluation/test_traps.py::test_trap_1_an_image_that_is_loaded_again
   tests/evaluation/test_traps.py::test_trap_1_the_hook_sees_it_too
   tests/evaluation/test_traps.py::test_trap_1_a_wrapper_that_drops_the_corruption_or_keeps_samples
   tests/evaluation/test_probe.py::test_each_part_of_a_data_set_for_itself
   tests/evaluation/test_guard.py::test_a_run_without_any_changed_pixel_fails
   tests/evaluation/test_guard.py::test_images_without_a_record_fail
   tests/evaluation/test_guard.py::test_a_mixture_fails
   tests/evaluation/test_metrics.py::test_trap_1_clean_pixels_under_the_name_of_a_corruption
   tests/evaluation/test_folder.py::test_trap_pixels_of_the_clean_images_under_another_name
   tests/tools/test_benchmark.py::test_trap_a_corruption_without_effect_fails_its_condition_and_keeps_the_others
   tests/tools/test_train_and_test.py::test_a_corruption_that_changes_nothing_fails_the_run
2. Conditions that were not run count as 0, and rPC without a clean run is infinite.
   tests/evaluation/test_metrics.py::test_trap_2_missing_conditions_are_named_and_the_mean_is_refused
   tests/evaluation/test_metrics.py::test_trap_2_a_partial_mean_is_over_what_is_there_and_marked
   tests/evaluation/test_metrics.py::test_trap_2_without_clean_there_is_no_rpc_and_it_is_not_infinite
   tests/evaluation/test_metrics.py::test_trap_2_a_clean_score_of_0_gives_no_rpc
   tests/evaluation/test_confidence.py::test_trap_2_what_is_missing_has_no_interval
   tests/tools/test_benchmark.py::test_the_clean_condition_alone_and_a_partial_summary
   tests/evaluation/report/test_page.py::test_a_missing_condition_is_a_dash
3. Means by the order of keys in a file.
   tests/evaluation/test_metrics.py::test_trap_3_the_order_of_results_and_classes_makes_no_difference
   tests/evaluation/test_metrics.py::test_trap_3_figures_are_by_corruption_whatever_the_order_of_the_protocol
   tests/evaluation/test_records.py::test_the_metric_names_classes_whatever_their_order_in_the_file
4. Results that are kept only if asked for; a sweep that dies loses all.
   tests/evaluation/test_traps.py::test_trap_4_a_sweep_that_dies_keeps_every_condition_that_has_ended
   tests/tools/test_train_and_test.py::test_a_condition_from_the_command_line_to_the_file
   tests/tools/test_benchmark.py::test_what_is_missing_is_run_again_and_nothing_else
   tests/tools/test_benchmark.py::test_three_jobs_share_a_folder_and_a_killed_one_is_made_up_for
   tests/evaluation/test_claims.py::test_a_killed_process_gives_back_what_it_claimed
5. Results that depend on workers, ranks, batches, their order or on what ran before.
   tests/evaluation/test_traps.py::test_trap_5_scores_depend_on_neither_workers_nor_batches_nor_what_ran_before
   tests/evaluation/test_stream.py::test_trap_pixels_depend_on_neither_workers_nor_batches_nor_what_ran_before
   tests/datasets/test_transforms.py::test_the_folder_of_the_data_set_and_what_ran_before_do_not_matter
   tests/corruptions/test_seeding.py::test_other_processes_and_worker_counts
   tests/tools/test_benchmark.py::test_batch_size_and_workers_make_no_difference
   tests/tools/test_benchmark.py::test_two_ranks_give_the_same_bytes
6. A set of saved copies scores differently from corruption on the fly.
   tests/evaluation/test_traps.py::test_trap_6_saved_copies_score_as_on_the_fly
   tests/evaluation/test_traps.py::test_trap_6_jpeg_copies_are_known_to_be_different
   tests/datasets/test_corrupted.py::test_loading_a_copy_gives_what_is_made_on_the_fly
   tests/datasets/test_corrupted.py::test_jpg_is_not_lossless_and_cannot_be_verified
7. A corruption that takes minutes an image, and nobody knows how long it will be.
   tests/evaluation/test_traps.py::test_trap_7_no_corruption_loops_over_pixels_in_python
   tests/evaluation/test_progress.py::test_the_time_left_counts_the_conditions_to_come
   tests/tools/test_generate_corrupted.py::test_it_says_the_cost_writes_reports_and_verifies
8. No detections give -1 or no AP; classes that are NaN silently leave the mean.
   tests/evaluation/test_scores.py::test_nothing_detected_is_zero_and_not_missing
   tests/evaluation/test_scores.py::test_trap_8_a_class_that_is_never_found_is_not_dropped_from_the_mean_f_score
   tests/evaluation/test_records.py::test_trap_8_nothing_detected_is_zero_and_a_class_without_objects_is_not
   tests/evaluation/test_records.py::test_trap_8_classes_that_are_nowhere_are_no_zeros_and_nothing_at_all_is_nan
   tests/evaluation/test_metrics.py::test_trap_8_absent_classes_are_named
   tests/evaluation/test_metrics.py::test_trap_8_a_metric_that_is_nan_in_one_condition_is_not_averaged_over_the_others
   tests/evaluation/test_metrics.py::test_trap_8_nothing_detected_in_one_condition_counts_as_0
   tests/evaluation/test_confidence.py::test_trap_8_draws_without_any_object_have_no_ap
9. Padding, which attention over the whole image sees: predictions depend on what else is in a batch.
   tests/evaluation/test_traps.py::test_trap_9_an_image_is_scored_alike_in_any_company
   tests/evaluation/test_stream.py::test_images_of_unequal_size_are_not_padded_together
10. A test corruption in the training pipeline, and figures that pass for zero-shot.
   tests/evaluation/test_traps.py::test_trap_10_corruptions_in_training_are_in_the_sweep_and_its_report
   tests/evaluation/test_traps.py::test_trap_10_corruptions_in_the_training_of_the_checkpoint
   tests/evaluation/test_zero_shot.py::test_trap_a_test_corruption_in_training_is_found_at_any_depth
   tests/tools/test_train_and_test.py::test_a_test_corruption_in_training_is_named
   tests/evaluation/report/test_page.py::test_what_limits_a_mean_is_said_on_top_and_wherever_it_is
"""

import ast
import copy
import functools
import json
import re
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmcv.transforms import LoadImageFromFile

from fan_dense import configuration
from fan_dense.corruptions import apply, draw, names, seed_for
from fan_dense.datasets import transforms
from fan_dense.evaluation import condition, sweep
from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.guard import PixelGuard, SilentlyClean
from fan_dense.evaluation.loop import run_conditions
from fan_dense.evaluation.pipeline import set_condition
from fan_dense.evaluation.report import report
from fan_dense.evaluation.result import Condition
from fan_dense.training import zero_shot_warnings
from tests.reference import ROOT
from tests.tools import tiny

pytestmark = pytest.mark.filterwarnings('ignore::UserWarning')  # of mmseg, about its own code
KINDS = pytest.mark.parametrize('kind', ['detection', 'segmentation'])
CLEAN, FOG = Condition(), Condition(corruption='fog', severity=3)
NOISE, SNOW = (Condition(corruption=name, severity=2, seed=5) for name in ('gaussian_noise', 'snow'))


def test_the_table_names_tests_that_exist():
    traps = re.split(r'^\d+\. ', __doc__, flags=re.MULTILINE)[1:]
    assert len(traps) == 10
    for trap in traps:
        named = re.findall(r'^ +(\S+)::(\w+)$', trap, flags=re.MULTILINE)
        assert named
        for file, test in named:
            assert test in defined(ROOT / file), f'{file}::{test}'
    here = {test for test in defined(Path(__file__)) if test.startswith('test_trap_')}
    assert here <= set(re.findall(r'test_trap\w+', __doc__))


@functools.cache
def defined(file: Path) -> set[str]:
    """Names of the functions of a module."""
    return {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.fixture(scope='module')
def unequal(tmp_path_factory):
    """Folder of four images, all of different sizes, and of configs."""
    root = tmp_path_factory.mktemp('unequal')
    tiny.write(root, images=4, sizes=[(80, 112), (112, 144), (80, 160), (128, 112)])
    return root


@pytest.fixture(scope='module')
def subjects(unequal, trained, tmp_path_factory):
    """Models on these images, by kind."""
    return {kind: prepared(unequal / f'{kind}.py', trained[kind], tmp_path_factory.mktemp('log')) for kind in trained}


def prepared(config, folder, work_dir, **options):
    cfg = configuration.load(config, {'work_dir': str(work_dir), **options})
    return condition.prepare(cfg, folder / 'last.pth')


def outcomes(subject, *conditions, batch_size=1, workers=0, images=None):
    """condition -> what came out of it."""
    config = copy.deepcopy(subject.config)
    config.test_dataloader.batch_size = batch_size
    ran = run_conditions([replace(subject, config=config)], conditions, workers=workers, images=images)
    return {one: found if isinstance(found, SilentlyClean) else found[0] for one, found in ran}


def contributions(outcome) -> dict[str, np.ndarray]:
    """All that the images contributed to the scores, to the last digit."""
    return {
        f'{name}.{field.name}': np.asarray(getattr(record, field.name))
        for name, record in outcome.records.items()
        for field in fields(record)
    }


def assert_equal(one, other):
    np.testing.assert_equal(one.result.metrics, other.result.metrics)
    np.testing.assert_equal(contributions(one), contributions(other))


def differ(one, other) -> bool:
    others = contributions(other)
    return any(not np.array_equal(values, others[name]) for name, values in contributions(one).items())


@KINDS
@pytest.mark.parametrize('workers', [0, 2])
def test_trap_1_an_image_that_is_loaded_again(subjects, kind, workers):
    dataset = copy.deepcopy(subjects[kind].dataset)
    dataset.pipeline.transforms.insert(1, LoadImageFromFile())
    subject = replace(subjects[kind], dataset=dataset)
    found = outcomes(subject, CLEAN, NOISE, FOG, workers=workers)
    assert found[CLEAN].result.images == 4
    for one in (NOISE, FOG):
        assert isinstance(found[one], SilentlyClean)
        assert f'{one.corruption} changed ' in str(found[one])
        assert 'the network was given the same as without it' in str(found[one])
    with pytest.raises(SilentlyClean, match='does a step after Corrupt load the image again'):
        condition.run(subject, FOG)


def test_trap_1_the_hook_sees_it_too(subjects):
    dataset = copy.deepcopy(subjects['detection'].dataset)
    runner = SimpleNamespace(test_dataloader=SimpleNamespace(dataset=dataset))
    guard = PixelGuard()

    def test(asked):
        set_condition(dataset, asked)
        guard.before_test(runner)
        guard.after_test_iter(runner, 0, outputs=[dataset[index]['data_samples'] for index in range(4)])
        guard.after_test_epoch(runner)

    test(FOG)
    assert guard.report.images == 4
    dataset.pipeline.transforms.insert(1, LoadImageFromFile())
    test(CLEAN)
    with pytest.raises(SilentlyClean, match='the network was given the same as without it'):
        test(FOG)


class Wrapper:
    """A data set of samples that were made, or will be, by another of the same pictures."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.metainfo = dataset.metainfo
        self.kept = {}

    def __len__(self):
        return len(self.dataset)


class Keeping(Wrapper):
    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = self.dataset[index]
        return copy.deepcopy(self.kept[index])


class Dropping(Wrapper):
    def __init__(self, dataset):
        super().__init__(dataset)
        self.used = copy.deepcopy(dataset)

    def __getitem__(self, index):
        return self.used[index]


def test_trap_1_a_wrapper_that_drops_the_corruption_or_keeps_samples(subjects):
    subject = subjects['segmentation']
    found = outcomes(replace(subject, dataset=Keeping(copy.deepcopy(subject.dataset))), CLEAN, FOG)
    assert found[CLEAN].result.images == 4
    assert "the images are those of (None, None, 0, 'bgr'), not fog 3, seed 0, bgr" in str(found[FOG])
    found = outcomes(replace(subject, dataset=Keeping(copy.deepcopy(subject.dataset))), FOG, CLEAN, NOISE)
    assert 'the network was given the same as without it' in str(found[FOG])  # nobody can tell
    for one in (CLEAN, NOISE):
        assert f"the images are those of ('fog', 3, 0, 'bgr'), not {one.describe()}" in str(found[one])
    dataset = copy.deepcopy(subject.dataset)
    steps = dataset.pipeline.transforms
    steps[:] = [step for step in steps if not isinstance(step, transforms.Corrupt)]
    found = outcomes(replace(subject, dataset=Dropping(dataset)), CLEAN, FOG)
    assert all('0 of 4 images carry a record of their pixels' in str(one) for one in found.values())


def test_trap_4_a_sweep_that_dies_keeps_every_condition_that_has_ended(unequal, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = SweepFolder('work_dirs/segmentation/benchmark/last/common-part')
    original, at_death = transforms.corrupt, []

    def dying(image, name, severity, **options):
        if (name, severity) == ('fog', 4):
            at_death.extend(path.name for path in sorted(folder.path.glob('*/*.*')))
            raise MemoryError
        return original(image, name, severity, **options)

    monkeypatch.setattr(transforms, 'corrupt', dying)
    model = (unequal / 'segmentation.py', trained['segmentation'] / 'last.pth')
    with pytest.raises(MemoryError):
        sweep.benchmark(models=[model], corruptions=['gaussian_noise', 'fog'], severities=[1, 4])
    noise, fog = (dict(corruption=name) for name in ('gaussian_noise', 'fog'))
    ended = [CLEAN, Condition(**noise, severity=1), Condition(**noise, severity=4), Condition(**fog, severity=1)]
    assert [str(one) for one in folder.missing()] == ['fog 4']
    for one in ended:  # before the process had any time to tidy up
        assert {f'{one.file_stem}.json', f'{one.file_stem}.npz'} <= set(at_death)
        assert folder.results()[one].images == 4
        assert folder.records(one)['iou'].counts.shape == (4, 4, 2)
    assert not folder.finished(Condition(corruption='fog', severity=4))


@KINDS
def test_trap_5_scores_depend_on_neither_workers_nor_batches_nor_what_ran_before(subjects, kind):
    subject = subjects[kind]
    alone = outcomes(subject, NOISE)[NOISE]
    assert differ(alone, outcomes(subject, FOG, SNOW)[SNOW])
    for before, options in (
        ((), dict(workers=2)),
        ((), dict(batch_size=4)),
        ((CLEAN, SNOW), {}),
        ((FOG,), dict(batch_size=3, workers=2)),
    ):
        again = outcomes(subject, *before, NOISE, **options)[NOISE]
        assert_equal(again, alone)
        assert again.result.pixel_digest == alone.result.pixel_digest


@KINDS
def test_trap_6_saved_copies_score_as_on_the_fly(subjects, unequal, trained, kind, tmp_path, command):
    made = outcomes(subjects[kind], CLEAN, NOISE, SNOW)
    for one in (NOISE, SNOW):
        code, _, err = command('generate_corrupted', *generation(unequal, one))
        assert code == 0, err
        saved = outcomes(on_copies(one, unequal, trained, kind, tmp_path), CLEAN)[CLEAN]
        assert differ(saved, made[CLEAN])
        assert_equal(saved, made[one])
        assert saved.result.per_class.keys() == made[one].result.per_class.keys()
        assert saved.result.pixel_digest == made[one].result.pixel_digest


def test_trap_6_jpeg_copies_are_known_to_be_different(subjects, unequal, trained, tmp_path, command):
    kind = 'segmentation'
    code, _, err = command('generate_corrupted', *generation(unequal, NOISE), '--format', 'jpg', '--keep-names')
    assert code == 0, err
    saved = outcomes(on_copies(NOISE, unequal, trained, kind, tmp_path), CLEAN)[CLEAN]
    made = outcomes(subjects[kind], NOISE)[NOISE]
    assert differ(saved, made)
    assert saved.result.pixel_digest != made.result.pixel_digest
    assert json.loads(Path('copies/manifest.json').read_text())['format'] == 'jpg'
    code, _, err = command('generate_corrupted', unequal / 'images', 'copies', '--verify')
    assert code == 2
    assert 'holds jpg files, whose pixels are not those of the digests' in err


def generation(data, one):
    """Arguments of the command."""
    options = {'--corruptions': one.corruption, '--severities': one.severity, '--seed': one.seed}
    return data / 'images', 'copies', *(word for pair in options.items() for word in pair)


def on_copies(one, data, trained, kind, folder):
    """The model on the saved copies, which the command has written to ``folder``."""
    prefix = {'detection': 'img', 'segmentation': 'img_path'}[kind]
    images = folder / 'copies' / one.corruption / str(one.severity)
    option = {f'test_dataloader.dataset.data_prefix.{prefix}': str(images)}
    return prepared(data / f'{kind}.py', trained[kind], folder, **option)


@pytest.mark.parametrize('name', names('all'))
def test_trap_7_no_corruption_loops_over_pixels_in_python(name):
    small, large = (np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8) for side in (64, 256))
    for severity in range(1, 6):
        few, many = (instructions(name, severity, image) for image in (small, large))
        assert 0 < many < 1.5 * few, severity


def instructions(name: str, severity: int, image: np.ndarray) -> int:
    """Number of Python's instructions that a corruption takes."""

    def run():
        apply(image, name, severity, draw(image, name, severity, rng=seed_for(0, 'a', name, severity)))

    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == 'opcode'
        return trace

    run()  # compiles, and loads tables
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@KINDS
def test_trap_9_an_image_is_scored_alike_in_any_company(subjects, kind):
    subject = subjects[kind]
    alone = [of_image(outcomes(subject, FOG, images=[index])[FOG], 0) for index in range(4)]
    for images, batch_size in (([0, 1, 2, 3], 4), ([3, 1, 0], 2)):
        together = outcomes(subject, FOG, images=images, batch_size=batch_size)[FOG]
        for position, index in enumerate(images):
            np.testing.assert_equal(of_image(together, position), alone[index])


def of_image(outcome, position: int) -> list[np.ndarray]:
    """What one image contributed."""
    found = []
    for record in outcome.records.values():
        if hasattr(record, 'counts'):
            found.append(record.counts[position])
        else:
            own = record.image == position
            assert own.any()
            order = np.lexsort((record.score[own], record.label[own]))
            found += [column[own][order] for column in (record.label, record.score, record.matched)]
    return found


def test_trap_10_corruptions_in_training_are_in_the_sweep_and_its_report(unequal, trained, tmp_path):
    fog = "dict(type='Corrupt', corruption='fog', severity=3, seed=None)"
    snow = "dict(type='RandomApply', transforms=[dict(type='Corrupt', corruption='snow', severity=1, seed=None)])"
    hook = f"dict(type='mmdet.PipelineSwitchHook', switch_epoch=1, switch_pipeline=[{snow}])"
    crop = "dict(type='RandomCrop'"
    text = (unequal / 'segmentation.py').read_text()
    config = tmp_path / 'segmentation.py'
    config.write_text(text.replace(crop, f'{fog}, {crop}') + f'custom_hooks = [{hook}]\n')
    out = tmp_path / 'sweep'
    model = (config, trained['segmentation'] / 'last.pth')
    options = dict(corruptions=['fog', 'gaussian_noise', 'snow'], severities=[3], worst_images=0, max_images=1)
    sweep.benchmark(models=[model], protocol='quick', out=out, **options)
    assert SweepFolder(out).identity.training_corruptions == ['fog', 'snow']
    warnings = report(folders=[out], formats=['json'], resamples=0).warnings
    (warning,) = (one for one in warnings if 'not zero-shot' in one)
    assert warning.endswith('the training pipeline contains corruptions of this test: fog, snow')
    (line,) = zero_shot_warnings(configuration.load(config))
    assert line.startswith('the training pipeline contains fog, snow, which the benchmarks test with')


def test_trap_10_corruptions_in_the_training_of_the_checkpoint(unequal, trained, tmp_path):
    checkpoint = torch.load(trained['segmentation'] / 'last.pth', weights_only=False)
    crop = 'dict(crop_size=('
    checkpoint['meta']['cfg'] = checkpoint['meta']['cfg'].replace(
        crop, f"dict(type='Corrupt', corruption='frost'), {crop}"
    )
    torch.save(checkpoint, tmp_path / 'frost.pth')
    out = tmp_path / 'sweep'
    model = (unequal / 'segmentation.py', tmp_path / 'frost.pth')
    sweep.benchmark(models=[model], protocol='quick', out=out, clean_only=True)
    assert SweepFolder(out).identity.training_corruptions == ['frost']
