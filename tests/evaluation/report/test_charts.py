"""Charts: what they show can be told apart without colour, and their text stays text."""

import itertools
import math
import re
from xml.etree import ElementTree

import cv2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fan_dense.evaluation.report import curves, style, svg

NAN = math.nan


def test_no_two_models_look_alike_even_in_black_and_white():
    looks = [style.look(index) for index in range(35)]
    assert len({(look.colour, str(look.dashes), look.marker) for look in looks}) == 35
    first = looks[:5]
    assert len({str(look.dashes) for look in first}) == len({look.marker for look in first}) == 5


def test_figures_in_cells_can_be_read():
    from matplotlib.colors import LinearSegmentedColormap

    scale = LinearSegmentedColormap.from_list('score', style.SCALE)
    colours = [scale(share / 20)[:3] for share in range(21)]
    for colour in colours:
        ends = sorted((wcag(colour), wcag(style.ink_on(colour))))
        assert (ends[1] + 0.05) / (ends[0] + 0.05) > 4.5
    assert [wcag(one) for one in colours] == sorted(map(wcag, colours), reverse=True)  # one direction, for grey prints


def wcag(colour):
    """Relative luminance of WCAG 2."""
    from matplotlib.colors import to_rgb

    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(st.lists(st.floats(0, 1) | st.just(NAN), min_size=1, max_size=6))
def test_labels_at_the_ends_of_lines_do_not_cover_each_other(ends):
    lines = [curves.Curve(str(i), style.look(i), {0: NAN, 5: value}) for i, value in enumerate(ends)]
    heights = curves._apart(lines, 100.0)
    shown = sorted(height for height in heights if height is not None)
    assert [height is None for height in heights] == [math.isnan(value) for value in ends]
    assert all(b - a >= 10.99 for a, b in itertools.pairwise(shown))
    assert all(height <= 100.01 for height in shown)
    order = sorted((value, height) for value, height in zip(ends, heights) if height is not None)
    assert [height for _, height in order] == pytest.approx(shown)  # as their lines


def test_a_missing_severity_is_a_gap_and_not_zero():
    panel = curves.Panel('fog', [curves.Curve('A', style.look(0), {0: 0.5, 1: NAN, 2: 0.2})])
    with style.drawing():
        figure = curves.small(panel, 60)
    line, missing = figure.axes[0].lines
    assert line.get_ydata()[[0, 2]].tolist() == [50, 20]
    assert math.isnan(line.get_ydata()[1])
    assert list(missing.get_xdata()) == [1]


def test_text_in_svg_is_text_and_says_partial(several):
    for name in ('overview_mIoU', 'severities_mIoU', 'groups_mIoU', 'curves_mIoU', 'heat_map_mIoU_B'):
        text = ' '.join(ElementTree.parse(several / 'charts' / f'{name}.svg').getroot().itertext())
        assert 'PARTIAL' in text, name
        assert 'not zero-shot' in text, name
    assert 'gaussian noise' in text
    assert '<b>fan</b> $x$' in text  # neither markup nor mathematics
    assert 'PARTIAL' not in (several / 'charts' / 'heat_map_mIoU_A.svg').read_text()


def test_a_long_name_does_not_push_its_marks_out():
    text = style.shortened('a' * 200, 3.0, 8, ' [PARTIAL]')
    assert text.endswith('… [PARTIAL]')
    assert style.text_width(text, 8) <= 3.0
    assert style.shortened('short', 3.0, 8, ' [PARTIAL]') == 'short [PARTIAL]'


def test_each_chart_is_a_png_and_an_svg(several):
    charts = sorted((several / 'charts').iterdir())
    assert [one.stem for one in charts[::2]] == [one.stem for one in charts[1::2]]
    assert len(charts) == 2 * (3 * 4 + 2 + 1 + 1 + 1)  # of three metrics, heat maps, time
    for file in charts[::2]:
        picture = cv2.imread(str(file.with_suffix('.png')))
        assert picture.min() < 100  # not blank
        root = ElementTree.parse(file.with_suffix('.svg')).getroot()
        width, height = (float(root.get(side).removesuffix('pt')) for side in ('width', 'height'))
        assert picture.shape[1] / picture.shape[0] == pytest.approx(width / height, rel=0.02)


def test_inlined_drawings_keep_apart():
    drawing = (
        b'<?xml version="1.0"?>\n<!DOCTYPE svg "http://x">\n'
        b'<svg xmlns:xlink="l" width="72pt" height="36pt" viewBox="0 0 72 36">'
        b'<defs>\n<style type="text/css">*{stroke: red}</style>\n</defs>'
        b'<g id="unused"><path id="m1" d="M 0 0 \nL 1 1"/>'
        b'<use xlink:href="#m1"/><g clip-path="url(#p2)"/></g><clipPath id="p2"/></svg>\n'
    )
    text = svg.inline(drawing, 'one', 'a &lt; b')
    assert text.startswith('<svg')
    assert text.endswith('</svg>')
    assert re.findall(r' id="([^"]+)"', text) == ['one-m1', 'one-p2']
    assert 'xlink:href="#one-m1"' in text
    assert 'url(#one-p2)' in text
    assert 'stroke: red' not in text
    assert 'aria-label="a &lt; b"' in text
    assert ' width=' not in text


def test_the_users_settings_do_not_matter():
    import matplotlib

    panel = curves.Panel('fog', [curves.Curve('A', style.look(0), {0: 0.5, 1: 0.2})])
    drawn = []
    for size in (10.0, 30.0):
        with matplotlib.rc_context({'font.size': size, 'lines.linewidth': size}):
            with style.drawing():
                drawn.append(style.rendered(curves.small(panel, 60), 'svg'))
            assert matplotlib.rcParams['font.size'] == size
    assert drawn[0] == drawn[1]
