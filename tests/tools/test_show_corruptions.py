"""The command that draws the contact sheet."""

import cv2
import numpy as np


def test_contact_sheet(command, tmp_path):
    cv2.imwrite(str(tmp_path / 'image.png'), np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8))
    code, out, err = command('show_corruptions', 'image.png', '--out', 'out/sheet.png', '--cell', 60)
    assert code == 0, err
    assert '19 corruptions x 5 severities in out/sheet.png' in out
    height, width, _ = cv2.imread(str(tmp_path / 'out/sheet.png')).shape
    assert height > 19 * 40
    assert width > 6 * 60
    code, _, err = command('show_corruptions', 'image.png', '--out', 'out/sheet.png')
    assert code == 2
    assert 'exists already' in err
    assert command('show_corruptions', 'image.png', '--overwrite', '--corruptions', 'fogg')[2].startswith(
        "error: unknown corruption 'fogg'; did you mean fog?"
    )
    code, _, err = command('show_corruptions', 'image.png', '--out', 'sheet.xyz')
    assert (code, err) == (2, 'error: sheet.xyz: the name of a picture ends in .png or .jpg\n')
    code, _, err = command('show_corruptions', 'missing.png')
    assert (code, err) == (2, 'error: image missing.png does not exist\n')
