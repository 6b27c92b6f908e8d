import numpy as np

from fan_dense.evaluation.worst import choose
from tests.evaluation.results import condition

CLEAN, FOG, DENSE_FOG, SNOW, FROST = map(condition, ('clean', 'fog 1', 'fog 5', 'snow 1', 'frost 2'))
NAN = np.nan


def scores(**values):
    return {one: np.array(values[name]) for name, one in globals_by_name().items() if name in values}


def globals_by_name():
    return dict(clean=CLEAN, fog=FOG, dense=DENSE_FOG, snow=SNOW, frost=FROST)


def test_the_largest_losses_with_no_image_and_no_corruption_twice():
    given = scores(clean=[0.9, 0.8, 0.7], fog=[0.5, 0.8, 0.7], dense=[0.1, 0.1, 0.5], snow=[0.2, 0.5, 0.6])
    # losses: dense fog 0.8 (image 0), 0.7 (1), 0.2 (2); snow 0.7 (0), 0.3 (1), 0.1 (2)
    assert choose(given, 2) == [(0, DENSE_FOG), (1, SNOW)]
    assert choose(given, 1) == [(0, DENSE_FOG)]
    assert choose(given, 9) == [(0, DENSE_FOG), (1, SNOW)]


def test_images_without_a_score_or_a_loss_are_not_shown():
    given = scores(clean=[NAN, 0.5, 0.5], fog=[0.0, NAN, 0.5], snow=[0.1, 0.6, 0.5], frost=[0.0, 0.5, 0.4])
    assert choose(given, 3) == [(2, FROST)]


def test_ties_go_to_the_first_image():
    given = scores(clean=[0.5, 0.5], fog=[0.25, 0.25])
    assert choose(given, 1) == [(0, FOG)]
