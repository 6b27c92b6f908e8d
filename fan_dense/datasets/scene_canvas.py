"""A pinhole camera that looks along a street, the light over it, and the canvas that both serve.

World coordinates are metres: x to the right, y up, z ahead; the ground is y = 0. Everything is painted from far to near
as flat polygons on a canvas of twice the image size, whose fourth channel holds the identity of what was painted last.
Only additions, multiplications, divisions, square roots and OpenCV's integer routines are used: their results are the
same on every platform, which a sine or an exponential does not promise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

SUPERSAMPLING = 2
NEAR = 1.2  # metres; nothing is projected from nearer than this

# The unit circle in 16 steps, counter-clockwise; literal values because a cosine may differ between C libraries.
_OCTANT = [(1.0, 0.0), (0.92388, 0.38268), (0.70711, 0.70711), (0.38268, 0.92388)]
_QUADRANTS = [(1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0)]
CIRCLE = np.array([(a * x + b * y, c * x + d * y) for a, b, c, d in _QUADRANTS for x, y in _OCTANT])


class Part(NamedTuple):
    """A flat polygon of one colour: ``points`` (K, 3) in metres, ``colour`` (b, g, r) in 0..255.

    A ``glow`` part shines by itself: neither light nor shade changes it.
    """

    points: np.ndarray | Sequence[tuple[float, float, float]]
    colour: tuple[float, float, float]
    glow: bool = False


@dataclass(frozen=True)
class Light:
    """What the hour and the weather do to colours. Colours are (b, g, r) in 0..255, gains are factors."""

    sky_top: tuple[float, float, float]
    sky_low: tuple[float, float, float]
    cloud: tuple[float, float, float]
    gain: tuple[float, float, float]
    haze: tuple[float, float, float]
    haze_depth: float  # metres at which half of the colour is haze
    shadow: float  # 0 (diffuse light) .. 1 (black shadows)
    lamps: bool
    sun: tuple[float, float, float] = (0.0, 0.9, -0.4)  # unit vector towards the sun

    def tones(self, colours, depths, shades, glows) -> np.ndarray:
        """Colours (N, 3) of surfaces at ``depths`` (N,) metres that take the shares ``shades`` (N,) of the light."""
        clear = (self.haze_depth / (self.haze_depth + depths))[:, None]
        toned = colours * self.gain * shades[:, None] * clear + np.array(self.haze) * (1 - clear)
        return np.where(glows[:, None], colours, np.minimum(toned, 255)).astype(np.int32)


@dataclass(frozen=True)
class Camera:
    """Pinhole camera: ``focal`` and the vanishing point (``u``, ``v``) in canvas pixels, the rest in metres."""

    focal: float
    u: float
    v: float
    x: float
    height: float
    bend: float  # sideways drift of the street, metres per square metre ahead

    def project(self, points: np.ndarray) -> np.ndarray:
        """World points (..., 3) to canvas pixels (..., 2)."""
        z = np.maximum(points[..., 2], NEAR)
        scale = self.focal / z
        u = self.u + (points[..., 0] - self.x + self.bend * z * z) * scale
        v = self.v - (points[..., 1] - self.height) * scale
        return np.stack([u, v], axis=-1)

    def upright(self, pixels, z: float) -> np.ndarray:
        """World points (K, 3) at depth ``z`` that are seen at canvas pixels (K, 2)."""
        u, v = np.array(pixels, float).T
        x = (u - self.u) * (z / self.focal) + self.x - self.bend * z * z
        return np.stack([x, self.height - (v - self.v) * (z / self.focal), np.full(len(x), z)], axis=1)


class Canvas:
    """Pixels (2H, 2W, 4) of blue, green, red and identity.

    What is to be painted is gathered first, from far to near, and projected in one go: a scene is some hundred
    polygons of a few corners, and a NumPy call for each would cost more than filling it.
    """

    def __init__(self, size: tuple[int, int], camera: Camera, light: Light):
        self.pixels = np.zeros((size[0] * SUPERSAMPLING, size[1] * SUPERSAMPLING, 4), np.uint8)
        self.camera = camera
        self.light = light
        self._gathered: list[tuple] = []  # points (K, 3) or (N, K, 3), colour, identity, shade, glow, solid

    def surface(self, points, colour, ident: int, shade: float = 1.0, glow: bool = False) -> None:
        """Paint world polygons (N, K, 3), which must not overlap, or one (K, 3) with one colour."""
        if len(points):
            self._gathered.append((np.asarray(points, float), colour, ident, shade, glow, False))

    def parts(self, parts: list[Part], ident: int, solid: bool) -> None:
        """Paint parts in order; those of ``solid`` things only if they face the camera, shaded by their slope."""
        self._gathered += [(part.points, part.colour, ident, 1.0, part.glow, solid) for part in parts]

    def flush(self) -> None:
        """Project and fill all that was gathered."""
        if not self._gathered:
            return
        shapes, colours, idents, shades, glows, solids = zip(*self._gathered)
        self._gathered = []
        points = np.concatenate([shape.reshape(-1, 3) for shape in shapes])
        ends = np.cumsum([shape.size // 3 for shape in shapes])
        starts = np.concatenate([[0], ends[:-1]])
        flat = self.camera.project(points)

        depths = (points[starts, 2] + points[ends - 1, 2]) / 2
        solids = np.array(solids)
        shades = np.where(solids, self._shades(points, starts), shades)
        tones = self.light.tones(np.array(colours, float), depths, shades, np.array(glows)).tolist()
        (ax, ay), (bx, by), (cx, cy) = (flat[starts + k].T for k in range(3))
        # counter-clockwise seen from the front, and v points down
        seen = ~solids | ((bx - ax) * (cy - ay) < (by - ay) * (cx - ax))
        flat = np.rint(flat).astype(np.int32)
        for k in np.flatnonzero(seen).tolist():
            polygons = flat[starts[k] : ends[k]].reshape(-1, shapes[k].shape[-2], 2)
            cv2.fillPoly(self.pixels, polygons, (*tones[k], idents[k]))

    def _shades(self, points: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Share of the light (N,) that polygons take, by the angle between their normal and the sun."""
        ax, ay, az = (points[starts + 1] - points[starts]).T
        bx, by, bz = (points[starts + 2] - points[starts]).T
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        sx, sy, sz = self.light.sun
        return 0.72 + 0.3 * (nx * sx + ny * sy + nz * sz) / np.sqrt(nx * nx + ny * ny + nz * nz + 1e-12)


def disc(x: float, y: float, radius_x: float, radius_y: float | None = None) -> list[tuple[float, float]]:
    """Outline of an upright ellipse as 16 points."""
    ratio = (radius_x, radius_x if radius_y is None else radius_y)
    return [(x + a * ratio[0], y + b * ratio[1]) for a, b in CIRCLE.tolist()]
