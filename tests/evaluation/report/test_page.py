"""The HTML page: its figures are the summary's, it needs nothing else, and nothing in it is taken for markup."""

import base64
import re

import cv2
import numpy as np
import pytest

from fan_dense.evaluation.folder import SweepFolder
from fan_dense.evaluation.report import report
from tests.evaluation.report import examples
from tests.evaluation.report.conftest import HARMFUL
from tests.evaluation.report.page import Page

MARKS = ('PARTIAL', 'not zero-shot')


@pytest.fixture(scope='module')
def page(alone):
    return Page(alone / 'report.html')


@pytest.fixture(scope='module')
def compared(several):
    return Page(several / 'report.html')


def summary(sweeps, name):
    return SweepFolder(sweeps / name).summary(partial=True, resamples=0)


def of(page, section, *heads):
    """The tables of a section whose first heads are these."""
    return [table for table in page.tables[section] if table.heads[: len(heads)] == list(heads)]


def figures(table):
    """First cell of each row -> the row's figures."""
    return {row[0]: values[1:] for row, values in zip(table.rows, table.figures)}


def exactly(*values):
    return pytest.approx(list(values), abs=0, nan_ok=True)


def test_headline_is_the_summary_in_per_cent(page, sweeps):
    (table,) = of(page, 'mIoU', 'model', 'clean', 'mPC', 'rPC')
    one = summary(sweeps, 'whole').metrics['mIoU']
    assert table.figures == [[None, one.clean, one.mpc, one.rpc]]
    for cell, value in zip(table.rows[0][1:], (one.clean, one.mpc, one.rpc)):
        assert float(cell.split()[0]) == pytest.approx(100 * value, abs=0.05001)
        low, high = map(float, cell.split()[1].split('–'))
        assert low <= 100 * value + 0.1
        assert high >= 100 * value - 0.1


def test_all_tables_of_a_metric_are_the_summary(page, sweeps):
    one = summary(sweeps, 'whole').metrics['mIoU']
    (by_corruption,) = of(page, 'mIoU', 'corruption', 'A fan_segformer_scenes')
    means = {name.replace('_', ' '): [row['mean']] for name, row in one.by_corruption.items()}
    assert figures(by_corruption) == {**means, 'mean (mPC)': [one.mpc]}
    (by_group,) = of(page, 'mIoU', 'group')
    assert figures(by_group) == {name: [value] for name, value in one.by_group.items()}
    (by_severity,) = of(page, 'mIoU', 'severity')
    assert figures(by_severity) == {'clean': [one.clean], '3': [one.by_severity['3']]}
    (conditions,) = of(page, 'mIoU', 'corruption', '3', 'mean')
    assert figures(conditions) == {
        name.replace('_', ' '): [row['severities']['3'], row['mean']] for name, row in one.by_corruption.items()
    }


def test_classes_and_their_worst_corruption(page, sweeps):
    one = summary(sweeps, 'whole').metrics['mIoU']
    (table,) = page.tables['classes']
    assert [row[0] for row in table.rows] == list(examples.CLASSES)
    for row, values in zip(table.rows, table.figures):
        expected = one.by_class[row[0]]
        assert values[1:4] == exactly(expected['clean'], expected['mpc'], expected['rpc'])
        if row[0] != 'pole':
            name, value = min(expected['by_corruption'].items(), key=lambda pair: pair[1])
            assert row[4] == f'{name.replace("_", " ")} {100 * value:.1f}'
    assert table.rows[-1] == ['pole', '–', '–', '–', '–']  # absent, not 0


def test_of_many_classes_the_weakest_are_shown(tmp_path):
    classes = tuple(f'class {index}' for index in range(30))
    examples.write(tmp_path / 'sweep', classes=classes, absent=('class 3',), with_records=False, worst=0, images=3)
    report(folders=[tmp_path / 'sweep'], formats=['html'])
    shown, everything = Page(tmp_path / 'sweep' / 'report' / 'report.html').tables['classes']
    assert [row[0] for row in everything.rows] == list(classes)
    means = {row[0]: values[2] for row, values in zip(everything.rows, everything.figures) if row[0] != 'class 3'}
    assert [row[0] for row in shown.rows] == sorted(means, key=means.get)[:10]


def test_every_metric_of_every_model(compared, sweeps):
    (table,) = compared.tables['all']
    expected = [
        (metric, name, one.clean, one.mpc, one.rpc)
        for name in ('whole', 'partial', 'detector')
        for metric, one in summary(sweeps, name).metrics.items()
    ]
    letters = {'A': 'whole', 'B': 'partial', 'C': 'detector'}
    found = [(row[0], letters[row[1][0]], *values[2:]) for row, values in zip(table.rows, table.figures)]
    assert {one[:2]: exactly(*one[2:]) for one in expected} == {one[:2]: list(one[2:]) for one in found}
    assert len(found) == len(expected) == 3 + 3 + 8


def test_each_metric_has_a_chapter_with_the_models_that_have_it(compared):
    (segmenters,) = of(compared, 'mIoU', 'model')
    assert [row[0][0] for row in segmenters.rows] == ['A', 'B']
    for metric in ('bbox_mAP', 'segm_mAP'):
        (detectors,) = of(compared, metric, 'model')
        assert [row[0] for row in detectors.rows] == ['C fan_maskrcnn_scenes']
    assert len(compared.tables['classes']) == 4


def test_what_limits_a_mean_is_said_on_top_and_wherever_it_is(compared):
    top = compared.texts['notices']
    assert '1 of 6 conditions are missing (snow 3)' in top
    assert 'the training pipeline contains corruptions of this test: fog' in top
    assert 'pixelate' not in top  # not of this protocol
    assert 'a corruption left some as they were (fog 3: 2)' in top
    assert 'pole: no ground truth' in top
    places = 0
    for tables in compared.tables.values():
        for table in tables:
            for cell in (*table.heads, *(cell for row in table.rows for cell in row)):
                if HARMFUL in cell and '/' not in cell.replace('</b>', ''):  # not the names of its files
                    assert all(mark in cell for mark in MARKS), cell
                    places += 1
    # headline, means by corruption, group and severity, each metric, time, methods, digests
    assert places == 4 + 3 + 1 + 2
    named = [i for i, (tag, attributes) in enumerate(compared.tags) if attributes.get('class') == 'model']
    badges = sum(attributes.get('class') == 'badge' for _, attributes in compared.tags)
    assert badges == 2 * compared_names(compared)
    assert len(named) > badges / 2  # the other models have none


def compared_names(page):
    """How often the page names the partial model with its chip."""
    chips = [attributes.get('style') for _, attributes in page.tags if attributes.get('class') == 'chip']
    return chips.count('--colour: #D55E00')


def test_findings_name_what_a_mean_leaves_out(page):
    text = ' '.join(page.texts['mIoU'].split())
    assert 'Without pole, absent from the ground truth' in text
    assert 'With images left unchanged: fog 3' in text


def test_a_missing_condition_is_a_dash(compared):
    (table,) = [one for one in of(compared, 'mIoU', 'corruption', '3', 'mean') if any('–' in row for row in one.rows)]
    assert [row for row in table.rows if '–' in row] == [['snow', '–', '–']]


def test_nothing_is_loaded_from_elsewhere(several):
    text = (several / 'report.html').read_text()
    page = Page(several / 'report.html')
    assert not {tag for tag, _ in page.tags} & {'script', 'link', 'iframe', 'object', 'embed', 'base', 'form', 'audio'}
    addresses = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ('src', 'srcset', 'href', 'xlink:href', 'action', 'data', 'poster', 'background')
    ]
    assert len(addresses) > 20
    assert all(address.startswith(('data:image/', '#')) for address in addresses)
    assert not any(name.startswith('on') for _, attributes in page.tags for name in attributes)
    assert '@import' not in text
    assert all(address.startswith('#') for address in re.findall(r'url\(([^)]*)\)', text))
    # names of XML's namespaces, which nobody fetches
    assert set(re.findall(r'([\w:]{1,20})="https?://', text)) == {'xmlns', 'xmlns:xlink'}
    assert text.count('://') == len(re.findall(r'xmlns(?::xlink)?="http://www.w3.org/', text))


def test_drawings_do_not_share_ids_and_find_theirs(several):
    page = Page(several / 'report.html')
    ids = [attributes['id'] for _, attributes in page.tags if 'id' in attributes]
    assert len(ids) == len(set(ids)) > 20
    references = re.findall(r'(?:href="|url\()#([^")]+)', (several / 'report.html').read_text())
    assert set(references) <= set(ids)
    assert sum(tag == 'style' for tag, _ in page.tags) == 1  # a drawing's rules would hold for the whole page


def test_names_are_no_markup(compared):
    assert 'b' not in {tag for tag, _ in compared.tags}
    assert HARMFUL in compared.texts['notices']
    assert all(HARMFUL in compared.texts[section] for section in ('mIoU', 'all', 'classes', 'worst', 'time', 'methods'))


def test_worst_images_are_in_the_page(page, sweeps):
    pictures = [attributes['src'] for tag, attributes in page.tags if tag == 'img']
    files = [f'{index}-{kind}.jpg' for index in (0, 1) for kind in ('clean', 'corrupted')]
    assert [base64.b64decode(one.partition('base64,')[2]) for one in pictures] == [
        (sweeps / 'whole' / 'worst' / file).read_bytes() for file in files
    ]
    decoded = cv2.imdecode(np.frombuffer(base64.b64decode(pictures[0].partition(',')[2]), np.uint8), cv2.IMREAD_COLOR)
    assert decoded.shape == (120, 320, 3)
    assert 'scene_1.png: from 62.0 clean to 12.0 under jpeg compression 3' in ' '.join(page.texts['worst'].split())


def test_without_pictures_records_and_times(sweeps, tmp_path):
    folder = SweepFolder(sweeps / 'bare')
    for condition in folder.conditions():
        file = folder.result_file(condition)
        text = re.sub(r',\s*"phases": \{[^}]*\}', '', file.read_text())
        assert 'phases' not in text
        copy = tmp_path / 'sweep' / 'conditions' / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    (tmp_path / 'sweep' / 'sweep.json').write_text((sweeps / 'bare' / 'sweep.json').read_text())
    (tmp_path / 'sweep' / 'worst').mkdir()
    worst = (sweeps / 'whole' / 'worst' / 'worst.json').read_text()
    (tmp_path / 'sweep' / 'worst' / 'worst.json').write_text(worst)  # without the pictures that it names
    report(folders=[tmp_path / 'sweep'], formats=['html'])
    page = Page(tmp_path / 'sweep' / 'report' / 'report.html')
    assert 'no confidence intervals' in page.texts['notices']
    assert page.texts['worst'].count('The corrupted picture is not there.') == 2
    assert 'time' not in page.tables
    assert not any(tag == 'img' for tag, _ in page.tags)
    (table,) = of(page, 'mIoU', 'model')
    assert table.rows == [['A bare', *[f'{100 * value:.1f}' for value in table.figures[0][1:]]]]


def test_published_figures_stand_beside_ones_own(tmp_path):
    examples.write(tmp_path / 'sweep', protocol='cityscapes-c', with_records=False, worst=0, images=3)
    report(folders=[tmp_path / 'sweep'], formats=['html'])
    page = Page(tmp_path / 'sweep' / 'report' / 'report.html')
    (table,) = of(page, 'mIoU', 'model')
    told = {row[0]: values[1:3] for row, values in zip(table.rows, table.figures)}
    # as published: SegFormer-B5 82.4 / 65.8, FAN-T 81.2 / 57.1
    assert told['SegFormer-B5 published, other data'] == [0.824, 0.658]
    assert [v for name, v in told.items() if name.startswith('FAN-T') and 'published' in name] == [[0.812, 0.571]]
    assert table.rows[0][0] == 'A fan_segformer_scenes'
    (by_corruption,) = [one for one in of(page, 'mIoU', 'corruption') if 'published' in ' '.join(one.heads)]
    column = next(i for i, head in enumerate(by_corruption.heads) if head.startswith('SegFormer-B5'))
    assert {row[0]: values[column] for row, values in zip(by_corruption.rows, by_corruption.figures)}['snow'] == 0.407
    text = ' '.join(page.texts['mIoU'].split())
    assert 'Published figures are of Cityscapes val' in text
    assert 'not comparable with A: other data' in text
