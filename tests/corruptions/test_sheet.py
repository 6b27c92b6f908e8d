import numpy as np

from fan_dense.corruptions import corrupt, seed_for
from fan_dense.corruptions.sheet import contact_sheet
from tests.corruptions.test_engine import picture


def test_cells_are_the_corrupted_images_in_their_places():
    image = picture(60, 80)
    sheet = contact_sheet(image, ['fog', 'contrast'], [1, 4], key='a', seed=2, cell=80)
    cells = [image, *(corrupt(image, 'contrast', s, rng=seed_for(2, 'a', 'contrast', s)) for s in (1, 4))]
    right, bottom = sheet.shape[1], sheet.shape[0]
    for column, cell in enumerate(cells):
        left = right - 84 * (3 - column)
        np.testing.assert_array_equal(sheet[bottom - 64 : bottom - 4, left : left + 80], cell)


def test_labels_are_drawn():
    sheet = contact_sheet(picture(60, 80), ['jpeg_compression'], [3], key='a', cell=80)
    label = sheet[:, : sheet.shape[1] - 2 * 84]
    assert (label < 100).any()
