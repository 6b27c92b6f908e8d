"""How all charts look: for colour-blind readers and for black and white, small, and the same bytes every time.

A model is known by its letter, which stands at the end of its line or bar, and by colour, dashes and marker besides.
"""

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass

# Okabe & Ito, 'Color Universal Design' (2008), without the yellow, which is too pale for a line on white
_COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000')
_DASHES = ('-', (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (8, 2, 2, 2)))
_MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X')
INK, MUTED, FAINT = '#1b1f24', '#5c6570', '#d9dee3'
SCALE = ('#f4f8fb', '#c3dcec', '#7db4d6', '#3585b8', '#0b5a8c', '#06395a')  # light to dark, of one hue

_RC = {
    'font.family': 'DejaVu Sans',  # comes with matplotlib, so that pictures do not depend on the machine's fonts
    'font.size': 8.5,
    'axes.edgecolor': MUTED,
    'axes.linewidth': 0.6,
    'axes.labelcolor': MUTED,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.titlesize': 9,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.titlecolor': INK,
    'text.color': INK,
    'text.parse_math': False,  # a name may hold a dollar sign
    'xtick.color': MUTED,
    'ytick.color': MUTED,
    'xtick.major.size': 0,
    'ytick.major.size': 0,
    'grid.color': FAINT,
    'grid.linewidth': 0.6,
    'lines.linewidth': 1.6,
    'lines.markersize': 4,
    'hatch.linewidth': 0.5,
    'svg.fonttype': 'none',  # text stays text
    'svg.hashsalt': 'fan_dense',  # else the ids in the file are random
}


@dataclass(frozen=True)
class Look:
    """How one model is drawn."""

    colour: str
    dashes: object
    marker: str


def look(index: int) -> Look:
    """The look of model number ``index``: no two of the first 35 are alike."""
    return Look(
        _COLOURS[index % len(_COLOURS)],
        _DASHES[index % len(_DASHES)],
        _MARKERS[index % len(_MARKERS)],
    )


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Inside, matplotlib draws as this module says, whatever the user's settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def figure(width: float, height: float):
    """An empty figure; sizes in inches. Not pyplot's, which would choose a window system."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def axes_at(figure, left: float, top: float, width: float, height: float):
    """Axes at a place given in inches from the upper left corner, so that charts side by side line up."""
    across, down = figure.get_size_inches()
    return figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def heading(figure, title: str, note: str = '') -> None:
    """The title of a whole figure in its upper left corner, and a line below it, both cut where they do not fit."""
    across, down = figure.get_size_inches()
    place = dict(va='top')
    figure.text(0.004, 1 - 0.04 / down, shortened(title, across, 9.5), fontsize=9.5, fontweight='bold', **place)
    figure.text(0.004, 1 - 0.215 / down, shortened(note, across, 7.5), fontsize=7.5, color=MUTED, **place)


def shortened(text: str, width: float, size: float, tail: str = '') -> str:
    """``text`` and ``tail``, the text cut to about ``width`` inches at ``size`` points, with an ellipsis."""
    most = int(width / text_width('x', size)) - len(tail)
    return (text if len(text) <= most else text[: most - 1].rstrip() + '…') + tail


def text_width(text: str, size: float = 8.5) -> float:
    """About how wide a text of ``size`` points is, in inches."""
    return 0.0088 * size * len(text)


def ink_on(colour) -> str:
    """White or black, whichever is easier to read on ``colour`` (by the contrast of WCAG 2, then at least 4.5)."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 'white' if luminance < 0.179 else 'black'


def rendered(figure, kind: str) -> bytes:
    """The bytes of a ``png`` or ``svg`` file."""
    buffer = io.BytesIO()
    metadata = {'Software': None} if kind == 'png' else dict.fromkeys(('Date', 'Creator', 'Format', 'Type'))
    figure.savefig(buffer, format=kind, dpi=200, metadata=metadata, facecolor='white')
    return buffer.getvalue()
