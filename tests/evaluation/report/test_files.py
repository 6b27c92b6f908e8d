"""Markdown, CSV and JSON, and how files are written."""

import csv
import json
import math
import shutil

import cv2
import pytest

from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.metrics import Summary
from fan_dense.evaluation.report import report
from tests.evaluation.report.conftest import HARMFUL
from tests.evaluation.report.test_page import summary


def rows(file):
    with open(file, newline='') as lines:
        return list(csv.DictReader(lines))


def number(cell):
    return float(cell) if cell else math.nan


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


def test_csv_has_each_condition_once_and_to_the_last_digit(several, sweeps):
    found = rows(several / 'conditions.csv')
    names = {'fan_segformer_scenes': 'whole', HARMFUL: 'partial', 'fan_maskrcnn_scenes': 'detector'}
    assert len(found) == (3 + 3 + 8) * 6
    for row in found:
        one = summary(sweeps, names[row['model']])
        figures = one.metrics[row['metric']]
        if row['condition'] == 'clean':
            expected = figures.clean
        else:
            expected = figures.by_corruption[row['corruption']]['severities'][row['severity']]
            assert row['condition'] == f'{row["corruption"]} {row["severity"]}'
        assert same(number(row['value']), expected)
        assert row['pixel_digest'] == one.pixel_digests.get(row['condition'], '')
        assert row['marks'] == ('PARTIAL; not zero-shot' if row['model'] == HARMFUL else '')
    of_iou = {(row['model'], row['condition']): row for row in found if row['metric'] == 'mIoU'}
    missing = of_iou[HARMFUL, 'snow 3']
    assert (missing['value'], missing['images']) == ('', '')
    assert of_iou['fan_segformer_scenes', 'fog 3']['unchanged_images'] == '2'


def test_csv_of_means(several, sweeps):
    found = {(row['model'], row['metric'], row['mean_of'], row['name']): row for row in rows(several / 'means.csv')}
    one = summary(sweeps, 'detector').metrics['bbox_mAP']
    model = 'fan_maskrcnn_scenes'
    for kind in ('clean', 'mpc', 'rpc'):
        row = found[model, 'bbox_mAP', kind, '']
        assert float(row['value']) == getattr(one, kind)
        assert float(row['low']) <= float(row['high'])
    assert float(found[model, 'bbox_mAP', 'corruption', 'fog']['value']) == one.by_corruption['fog']['mean']
    assert float(found[model, 'bbox_mAP', 'group', 'weather']['value']) == one.by_group['weather']
    assert float(found[model, 'bbox_mAP', 'severity', '3']['value']) == one.by_severity['3']
    assert float(found[model, 'bbox_mAP', 'class_mpc', 'car']['value']) == one.by_class['car']['mpc']
    assert found[model, 'bbox_mAP_s', 'mpc', '']['value'] == ''  # no small objects: unknown, not 0


def test_csv_of_seconds(several, sweeps):
    found = {(row['model'], row['condition']): row for row in rows(several / 'seconds.csv')}
    results = SweepFolder(sweeps / 'detector').results()
    assert sum(model == 'fan_maskrcnn_scenes' for model, _ in found) == len(results)
    for condition, result in results.items():
        row = found['fan_maskrcnn_scenes', str(condition)]
        assert {phase: float(row[phase]) for phase in result.phases} == result.phases


def test_json_is_the_summary(several, sweeps):
    content = json.loads((several / 'report.json').read_text(), parse_constant=pytest.fail)
    assert [model['name'] for model in content['models']] == ['fan_segformer_scenes', HARMFUL, 'fan_maskrcnn_scenes']
    assert content['models'][1]['marks'] == ['PARTIAL', 'not zero-shot']
    kept = Summary.from_json(json.dumps(content['models'][2]['summary']))
    assert kept.metrics['segm_mAP'].by_corruption == summary(sweeps, 'detector').metrics['segm_mAP'].by_corruption
    assert [one['head'] for one in content['notices'] if one['model'] == HARMFUL][:2] == ['PARTIAL', 'not zero-shot']


def test_markdown_names_marks_wherever_a_mean_is(several, sweeps):
    text = (several / 'report.md').read_text()
    name = r'\<b\>fan\</b\> \$x\$ \& "y" \| z\_1'
    lines = [line for line in text.splitlines() if name in line and not line.startswith(('| config', '| checkpoint'))]
    assert len(lines) > 10
    for line in lines:
        assert line.startswith('>') or r'\[PARTIAL\] \[not zero-shot\]' in line, line
    one = summary(sweeps, 'whole').metrics['mIoU']
    headline = text.partition('## Mean IoU\n\n')[2].partition('\n\n')[0]
    (row,) = [line for line in headline.splitlines() if line.startswith('| A · fan')]
    cells = [cell.split()[0] for cell in row.strip('| ').split(' | ')[1:]]
    assert cells == [f'{100 * value:.1f}' for value in (one.clean, one.mpc, one.rpc)]
    # tables are whole: as many cells in each line as in its head
    for block in text.split('\n\n'):
        if block.startswith('|'):
            assert len({line.replace(r'\|', '').count('|') for line in block.strip().splitlines()}) == 1


def test_markdown_shows_pictures_that_are_there(several):
    text = (several / 'report.md').read_text()
    files = [part.partition(')')[0] for part in text.split('](')[1:]]
    assert len(files) > 20
    for file in files:
        assert cv2.imread(str(several / file)) is not None, file


def test_the_same_sweeps_give_the_same_bytes(alone, sweeps, tmp_path):
    report(folders=[sweeps / 'whole'], out=tmp_path / 'again', resamples=50)
    files = sorted(file.relative_to(alone) for file in alone.rglob('*') if file.is_file())
    again = tmp_path / 'again'
    assert files == sorted(file.relative_to(again) for file in again.rglob('*') if file.is_file())
    assert [file for file in files if (alone / file).read_bytes() != (again / file).read_bytes()] == []
    assert {file.suffix for file in files} == {'.md', '.csv', '.json', '.html', '.svg', '.png', '.jpg'}


def test_only_what_is_asked_for_and_nothing_is_overwritten(sweeps, tmp_path):
    result = report(folders=[sweeps / 'whole'], out=tmp_path, formats=['csv', 'json'], resamples=0)
    names = ['conditions.csv', 'means.csv', 'seconds.csv', 'report.json']
    assert result.files == tuple(tmp_path / name for name in names)
    assert result.pictures == ()
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    before = (tmp_path / 'means.csv').read_bytes()
    (tmp_path / 'conditions.csv').unlink()
    with pytest.raises(FileExistsError, match=r'means\.csv exists already'):
        report(folders=[sweeps / 'bare'], out=tmp_path, formats=['csv'])
    assert {file.name for file in tmp_path.iterdir()} == set(names[1:])  # refused before anything is written
    report(folders=[sweeps / 'bare'], out=tmp_path, formats=['csv'], overwrite=True)
    assert (tmp_path / 'means.csv').read_bytes() != before


def test_warnings_are_told(sweeps, tmp_path):
    result = report(folders=[sweeps / 'partial'], out=tmp_path, formats=['json'], partial=True, resamples=0)
    assert [one.split(': ')[1] for one in result.warnings] == ['PARTIAL', 'not zero-shot', 'absent classes']


def test_intervals_of_the_sweep_are_kept_unless_its_results_have_changed(sweeps, tmp_path):
    shutil.copytree(sweeps / 'whole', tmp_path / 'sweep')
    folder = SweepFolder(tmp_path / 'sweep')
    folder.write_summary(folder.summary(resamples=7))
    of_seven = folder.summary(resamples=7).metrics['mIoU'].intervals
    assert intervals(tmp_path) == of_seven
    assert intervals(tmp_path, resamples=9) != of_seven
    assert intervals(tmp_path, resamples=0) is None
    file = folder.path / 'summary.json'
    file.write_text(file.read_text().replace('"images": 12', '"images": 13'))
    assert intervals(tmp_path) == folder.summary().metrics['mIoU'].intervals
    file.write_text('{')
    assert intervals(tmp_path) == folder.summary().metrics['mIoU'].intervals


def intervals(folder, **options):
    report(folders=[folder / 'sweep'], out=folder / 'report', formats=['json'], overwrite=True, **options)
    content = json.loads((folder / 'report' / 'report.json').read_text())
    return content['models'][0]['summary']['metrics']['mIoU']['intervals']


def test_errors_relative_to_a_reference(sweeps, tmp_path):
    report(folders=[sweeps / 'whole'], out=tmp_path, formats=['json', 'md'], reference=sweeps / 'bare', resamples=0)
    ours, theirs = (summary(sweeps, name).metrics['mIoU'].by_corruption['fog']['mean'] for name in ('whole', 'bare'))
    (model,) = json.loads((tmp_path / 'report.json').read_text())['models']
    expected = (1 - ours) / (1 - theirs)
    assert model['relative_degradation']['mIoU']['by_corruption']['fog']['ce'] == pytest.approx(expected)
    lines = (tmp_path / 'report.md').read_text().partition('### Errors relative to bare\n')[2].splitlines()
    row = next(line for line in lines if line.startswith('| fog |'))
    assert row.split('|')[2].strip() == f'{100 * expected:.1f}'
