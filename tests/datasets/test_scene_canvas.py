"""The camera against the formula of a pinhole, and what the canvas does with near and far, front and back."""

import dataclasses

import numpy as np
import pytest

from fan_dense.datasets.scene_canvas import CIRCLE, Camera, Canvas, Part, disc
from fan_dense.datasets.scene_layout import NIGHT, NOON
from fan_dense.datasets.scene_objects import Model, _box, car, tree, truck

CAMERA = Camera(focal=200.0, u=128.0, v=96.0, x=0.5, height=1.5, bend=0.0)


def test_pinhole():
    flat = CAMERA.project(np.array([[0.5, 1.5, 10.0], [1.5, 0.5, 20.0]]))
    np.testing.assert_allclose(flat, [[128, 96], [128 + 200 / 20, 96 + 200 / 20]])


def test_bend_moves_far_points_aside():
    bent = dataclasses.replace(CAMERA, bend=0.01)
    shift = bent.project(np.array([[0.0, 0.0, 10.0]])) - CAMERA.project(np.array([[0.0, 0.0, 10.0]]))
    np.testing.assert_allclose(shift, [[0.01 * 100 * 200 / 10, 0]])


def test_upright_inverts_project():
    pixels = np.array([(10.0, 20.0), (250.0, 180.0)])
    np.testing.assert_allclose(CAMERA.project(CAMERA.upright(pixels, 35.0)), pixels)


def test_circle():
    np.testing.assert_allclose(np.hypot(*CIRCLE.T), 1, atol=1e-4)
    angles = np.unwrap(np.arctan2(CIRCLE[:, 1], CIRCLE[:, 0]))
    np.testing.assert_allclose(angles, np.arange(16) * np.pi / 8, atol=1e-4)
    np.testing.assert_allclose(disc(3, 4, 2, 1)[4], (3, 5))


def test_haze_and_shade():
    colours = np.array([(100.0, 100.0, 100.0)] * 3)
    depths, shades, glows = (
        np.array([0.0, NOON.haze_depth, 5.0]),
        np.array([0.5, 1.0, 0.1]),
        np.array([False, False, True]),
    )
    near, far, lamp = NOON.tones(colours, depths, shades, glows)
    assert near.tolist() == [50, 50, 50]
    assert far.tolist() == [int((100 + haze) / 2) for haze in NOON.haze]
    assert lamp.tolist() == [100, 100, 100]


def test_last_painted_is_seen_with_its_identity():
    canvas = Canvas((96, 128), CAMERA, NOON)
    square = [(-5, -5, 10), (5, -5, 10), (5, 5, 10), (-5, 5, 10)]
    canvas.surface(square, (10, 20, 30), 3, glow=True)
    canvas.surface(np.array(square) * (0.2, 0.2, 1), (90, 80, 70), 40, glow=True)
    canvas.flush()
    assert canvas.pixels[120, 118].tolist() == [90, 80, 70, 40]
    assert canvas.pixels[60, 60].tolist() == [10, 20, 30, 3]


def test_faces_turned_away_are_not_painted():
    face = [(-1, 0.5, 10), (1, 0.5, 10), (1, 2.5, 10), (-1, 2.5, 10)]
    for points, seen in ((face, True), (face[::-1], False)):
        canvas = Canvas((96, 128), CAMERA, NOON)
        canvas.parts([Part(np.array(points, float), (50, 50, 50))], 33, solid=True)
        canvas.flush()
        assert (canvas.pixels[..., 3] == 33).any() == seen


def test_box_faces_look_outward():
    for corners in _box(4.0, 2.0, 0.5, 1.5, at=1.0, taper=(0.3, 0.4, 0.2)).values():
        a, b, c = np.array(corners[:3])
        outward = np.array(corners).mean(axis=0) - (0, 1.0, 1.0)
        # counter-clockwise from outside in a left-handed world (x right, y up, z ahead)
        assert np.dot(np.cross(c - a, b - a), outward) > 0


@pytest.mark.parametrize('make', [car, truck])
def test_vehicles_stand_on_the_ground_within_their_measures(make):
    for seed in range(5):
        model = make(np.random.default_rng(seed), NOON)
        points = np.concatenate([np.array(part.points) for part in (*model.parts, *model.nose)])
        low, high = points.min(axis=0), points.max(axis=0)
        assert low[1] == pytest.approx(0, abs=0.02)
        assert high[1] == pytest.approx(model.height, abs=1e-9)
        assert high[2] - low[2] == pytest.approx(model.length, abs=1e-9)
        assert model.width <= high[0] - low[0] <= model.width + 0.03


def test_heading_turns_and_orders():
    rear, nose = Part([(0, 0, -2)], (0, 0, 0)), Part([(0, 0, 2)], (9, 9, 9))
    model = Model([rear], 4.0, 2.0, 1.0, nose=(nose,))
    ahead = model.placed(1.0, 10.0, (0.0, 1.0))
    oncoming = model.placed(1.0, 10.0, (0.0, -1.0))
    assert [(p.colour[0], p.points[0, 2]) for p in ahead] == [(9, 12), (0, 8)]  # far parts first
    assert [(p.colour[0], p.points[0, 2]) for p in oncoming] == [(0, 12), (9, 8)]
    crossing = model.footprint(0.0, 10.0, (1.0, 0.0))
    assert np.ptp(crossing, axis=0).tolist() == [4.0, 0.0, 2.0]


def test_lamps_shine_at_night_only():
    rng = np.random.default_rng
    assert any(part.glow for part in car(rng(0), NIGHT).parts)
    assert not any(part.glow for part in car(rng(0), NOON).parts)


def test_far_trees_are_simpler():
    def corners(detailed):
        rng = np.random.default_rng(0)
        return sum(len(part.points) for _ in range(10) for part in tree(rng, NOON, detailed).parts)

    assert corners(False) < corners(True)
