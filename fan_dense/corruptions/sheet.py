"""A contact sheet: corruptions down, severities across."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from fan_dense.corruptions.engine import corrupt
from fan_dense.corruptions.registry import Image
from fan_dense.corruptions.seeding import seed_for

GAP = 4
SUFFIXES = ('.png', '.jpg')
PAPER, INK = (255, 255, 255), (20, 20, 20)


def contact_sheet(
    image: Image, corruptions: Sequence[str], severities: Sequence[int], *, key: str, seed: int = 0, cell: int = 160
) -> Image:
    """One labelled picture of an RGB image in all conditions, the clean image in the first column.

    Args:
        image: (H, W, 3) uint8, RGB; corrupted as it is, in that order, and reduced afterwards.
        corruptions: Rows, by name.
        severities: Columns.
        key: Image key of the seeds.
        seed: Seed of the run.
        cell: Width of one small picture, in pixels.

    Returns:
        (H', W', 3) uint8, RGB.
    """
    height = round(image.shape[0] * cell / image.shape[1])
    font = ImageFont.load_default(max(10, cell // 12))
    label = max(int(font.getlength(name)) for name in corruptions) + 2 * GAP
    line = font.size + 2 * GAP
    size = label + (cell + GAP) * (len(severities) + 1), line + (height + GAP) * len(corruptions)
    sheet = Pillow.new('RGB', size, PAPER)
    draw = ImageDraw.Draw(sheet)
    for column, title in enumerate(['clean', *(f'severity {severity}' for severity in severities)]):
        draw.text((label + (cell + GAP) * column, GAP), title, INK, font)
    for row, name in enumerate(corruptions):
        top = line + (height + GAP) * row
        draw.text((GAP, top + height // 2 - font.size // 2), name, INK, font)
        for column, severity in enumerate([None, *severities]):
            picture = image
            if severity is not None:
                picture = corrupt(image, name, severity, rng=seed_for(seed, key, name, severity))
            small = Pillow.fromarray(picture).resize((cell, height), Pillow.Resampling.BOX)
            sheet.paste(small, (label + (cell + GAP) * column, top))
    return np.asarray(sheet)


def check_name(path: Path) -> None:
    """Raise a ValueError unless :func:`write` can write a picture of that name."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f'{path}: the name of a picture ends in {" or ".join(SUFFIXES)}')


def write(sheet: np.ndarray, path: Path) -> None:
    """Write a picture, (H, W, 3) uint8 in RGB order.

    Raises:
        OSError: it cannot be written there.
    """
    check_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(sheet).save(path, quality=85)
    except OSError as error:
        raise OSError(f'picture {path} could not be written: {error.strerror}') from error
