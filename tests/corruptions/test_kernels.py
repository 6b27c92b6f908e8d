"""The compiled loops against other libraries, and against formulas."""

import cv2
import numpy as np
import pytest
from scipy import ndimage, stats

from fan_dense.corruptions import blur, noise
from fan_dense.corruptions.kernels import disk, displacement, edges, elastic, filters, plasma, resize, zoom
from fan_dense.corruptions.kernels import noise as noise_kernels
from fan_dense.corruptions.kernels.random import fill, normal_field

RNG = np.random.default_rng(0)
IMAGE = ndimage.gaussian_filter(RNG.integers(0, 256, (67, 83, 3)), (1, 1, 0)).astype(np.uint8)
KEY = np.array([1, 2], np.uint32)


def test_philox_is_the_published_function_of_its_counter():
    def philox(counter, key):
        c, k = list(counter), list(key)
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(second >> 32) ^ c[1] ^ k[0], second % 2**32, (first >> 32) ^ c[3] ^ k[1], first % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        return c

    # known answers of the authors' test suite (Random123, kat_vectors)
    assert philox((0,) * 4, (0,) * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    words = np.empty((4, 50), np.uint32)
    fill(words, np.array([0xA4093822, 0x299F31D0], np.uint32), 77, 3)
    for i in (0, 1, 49):
        assert words[:, i].tolist() == philox((i, 77, 3, 0), (0xA4093822, 0x299F31D0))


@pytest.mark.parametrize('tables', [noise._gaussian_tables, noise._speckle_tables, noise._shot_tables])
@pytest.mark.parametrize('severity', [1, 5])
def test_alias_tables_hold_the_distribution(tables, severity):
    table = tables(severity)
    stay, alias = (table >> 8) / 2.0**24, table & 255
    held = stay / 256
    np.add.at(held, (np.arange(256)[:, None], alias), (1 - stay) / 256)
    level = np.arange(256)
    expected = np.zeros((256, 256))
    if tables is noise._shot_tables:
        rate = noise.SHOT_RATE[severity - 1]
        for count in range(400):
            out = int(min(count / rate, 1) * 255)
            expected[:, out] += stats.poisson.pmf(count, level / 255 * rate)
    else:
        scales = noise.GAUSSIAN_SCALE if tables is noise._gaussian_tables else noise.SPECKLE_SCALE
        scale = scales[severity - 1] * (255 if tables is noise._gaussian_tables else np.maximum(level, 1e-6))
        edges_ = (np.arange(1, 256)[:, None] - level) / scale
        below = np.vstack([np.zeros(256), stats.norm.cdf(edges_), np.ones(256)])
        expected = np.diff(below, axis=0).T
    np.testing.assert_allclose(held, expected, atol=3e-7)


def test_resample_draws_from_the_tables():
    probability = RNG.dirichlet(np.full(256, 0.2), 256)
    image = np.repeat(np.arange(256, dtype=np.uint8)[::51], 60000).reshape(300, -1)
    out = noise_kernels.resample(image, noise_kernels.alias_tables(probability), KEY)
    for level in np.unique(image):
        seen = np.bincount(out[image == level], minlength=256)
        kept = probability[level] * 60000 > 5
        expected = np.append(probability[level][kept], probability[level][~kept].sum()) * 60000
        assert stats.chisquare(np.append(seen[kept], seen[~kept].sum()), expected).pvalue > 1e-4


@pytest.mark.parametrize('sigma', [0.7, 1.5, 6])
def test_gaussian_blur_is_scipys(sigma):
    x = IMAGE / 255.0
    expected = ndimage.gaussian_filter(x, (sigma, sigma, 0), mode='nearest')
    np.testing.assert_array_equal(blur.smooth(IMAGE, sigma), (expected * 255).astype(np.uint8))
    np.testing.assert_allclose(blur.smooth(x, sigma), expected, rtol=1e-14)


def test_a_filter_wider_than_the_image_and_than_a_tile():
    field = RNG.normal(size=(5, 1500, 1))
    weights = blur.gaussian_weights(4, 3)
    rows, columns = (np.pad(np.arange(n), len(weights) - 1, 'symmetric') for n in field.shape[:2])
    out = filters.separable(field, weights, weights, rows, columns, 1.0, np.empty_like(field), False)
    np.testing.assert_allclose(out, ndimage.gaussian_filter(field, (4, 4, 0), mode='reflect', truncate=3), rtol=1e-12)


@pytest.mark.parametrize(('radius', 'sigma'), blur.DEFOCUS)
def test_defocus_is_a_correlation_with_the_published_kernel(radius, sigma):
    kernel = disk.published_kernel(radius, sigma)
    expected = np.clip(cv2.filter2D(IMAGE / 255.0, -1, kernel), 0, 1) * 255
    np.testing.assert_array_equal(disk.blur(IMAGE, radius, sigma), expected.astype(np.uint8))


def test_motion_blur_by_shifted_copies():
    angle, radius, sigma = 30.0, 10, 3
    weights = np.exp(-(np.arange(21) ** 2) / (2 * sigma**2))
    padded = np.pad(IMAGE.astype(float), ((40, 40), (40, 40), (0, 0)), 'edge')
    total = np.zeros(IMAGE.shape)
    for i, weight in enumerate(weights / weights.sum()):
        dy, dx = (-int(np.ceil(i * f(np.deg2rad(angle)) - 0.5)) for f in (np.sin, np.cos))
        total += weight * padded[40 - dy : 107 - dy, 40 - dx : 123 - dx]
    difference = blur.motion(IMAGE, radius, sigma, angle) - np.floor(total + 1e-9)
    assert np.abs(difference).max() <= 1
    assert np.mean(difference != 0) < 0.01


@pytest.mark.parametrize('factor', [1.06, 1.2, 1.5, 4])
@pytest.mark.parametrize('size', [36, 71, 100])
def test_magnification_is_scipys(factor, size):
    field = RNG.normal(size=(size, size + 9))
    expected = ndimage.zoom(field, factor, order=1)
    axes = [zoom.axis(n, m, m) for n, m in zip(field.shape, expected.shape)]
    np.testing.assert_allclose(zoom.magnify(field, *axes, np.empty(expected.shape)), expected, rtol=1e-13, atol=1e-14)


def test_elastic_sampling_is_scipys():
    dy, dx = (RNG.normal(0, 40, IMAGE.shape[:2]).astype(np.float32) for _ in range(2))
    y, x = np.mgrid[: IMAGE.shape[0], : IMAGE.shape[1]]
    for c in range(3):
        channel = (IMAGE[:, :, c] / 255.0).astype(np.float32)
        expected = ndimage.map_coordinates(channel, [y + dy, x + dx], order=1, mode='reflect')
        out = elastic.sample(IMAGE, dy, dx)[:, :, c]
        np.testing.assert_array_equal(out, (np.clip(expected, 0, 1) * 255).astype(np.uint8))


@pytest.mark.parametrize('shape', [(32, 40), (300, 130), (700, 800)])
def test_smooth_fields_from_knots_are_smoothed_noise(shape):
    sigmas = [0.01 * n for n in shape]
    weights = [blur.gaussian_weights(sigma, 3) for sigma in sigmas]
    noise_ = displacement._noise(shape, KEY, 0).astype(float) / 32768
    assert abs(noise_).max() < 1
    assert stats.kstest(noise_[::3, ::3].ravel(), stats.uniform(-1, 2).cdf).pvalue > 1e-4
    expected = ndimage.gaussian_filter(noise_, sigmas, mode='reflect', truncate=3)
    error = displacement.field(shape, 1.0, sigmas, weights, KEY, 0) - expected
    assert np.sqrt(np.mean(error**2)) < 0.005 * expected.std()
    assert np.abs(error).max() < 0.04 * expected.std()


def test_normal_field():
    field = normal_field((400, 500), 0.5, 0.25, KEY)
    assert stats.kstest(field.ravel(), stats.norm(0.5, 0.25).cdf).pvalue > 1e-4


def test_edges_stencils_and_equalisation_are_opencvs():
    for shape in ((67, 83), (32, 200)):
        drops = cv2.GaussianBlur(RNG.normal(0.65, 0.3, shape), (0, 0), 2)
        drops = (np.where(drops < 0.68, 0, drops) * 255).astype(np.uint8)
        found = cv2.Canny(drops, 50, 150)
        np.testing.assert_array_equal(edges.canny(drops, 50, 150) * 255, found)
        distance = np.minimum(cv2.distanceTransform(255 - found, cv2.DIST_L2, 5), 20)
        box, emboss = np.ones((3, 3), np.float32), np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
        relief = edges.stencil(distance, box, 1 / 9, False)
        np.testing.assert_array_equal(relief, cv2.blur(distance, (3, 3)).astype(np.uint8))
        np.testing.assert_array_equal(edges.equalize(relief), cv2.equalizeHist(relief))
        np.testing.assert_array_equal(edges.stencil(relief, emboss, 1.0, True), cv2.filter2D(relief, cv2.CV_8U, emboss))
        np.testing.assert_array_equal(edges.stencil(relief, box, 1 / 9, True), cv2.blur(relief, (3, 3)))


def test_equalisation_of_one_level():
    np.testing.assert_array_equal(edges.equalize(np.full((4, 4), 9, np.uint8)), np.full((4, 4), 9))


def test_bicubic_is_opencvs():
    expected = cv2.resize(IMAGE, (211, 143), interpolation=cv2.INTER_CUBIC).astype(int)
    for top, left, height, width in ((0, 0, 143, 211), (20, 7, 100, 204)):
        crop = resize.bicubic(IMAGE, (143, 211), top, left, height, width)
        difference = np.abs(crop - expected[top : top + height, left : left + width])
        assert difference.max() <= 1
        assert (difference > 0).mean() < 1e-3


def test_plasma_is_diamond_square():
    """Point by point, in a dictionary, from the description of the draws."""
    rng, size, decay = np.random.default_rng(3), 16, 1.7
    draws = [rng.uniform(-1, 1, (3, 1 << level, 1 << level)) for level in range(4)]
    grid = {(0, 0): 0.0}
    for level, (centres, on_rows, on_columns) in enumerate(draws):
        step, w = size >> level, 100 / decay**level
        half = step // 2

        def at(y, x):
            return grid[y % size, x % size]

        n = range(size // step)
        for i, y in enumerate(range(0, size, step)):
            for j, x in enumerate(range(0, size, step)):
                corners = at(y, x) + at(y + step, x) + at(y, x + step) + at(y + step, x + step)
                grid[y + half, x + half] = corners / 4 + w * centres[i, j]
        for i in n:
            for j in n:
                y, x = i * step, j * step
                around = at(y - half, x + half) + at(y + half, x + half) + at(y, x) + at(y, x + step)
                across = at(y + half, x - half) + at(y + half, x + half) + at(y, x) + at(y + step, x)
                grid[y, x + half], grid[y + half, x] = around / 4 + w * on_rows[i, j], across / 4 + w * on_columns[i, j]
    expected = [[grid[y, x] for x in range(size)] for y in range(size)]
    made, low, high = plasma.from_draws(draws, decay)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
    assert (low, high) == (made.min(), made.max())


def test_plasma_from_a_key_is_diamond_square_of_its_words():
    """The random words, written out as draws, give the same map; of it only a part is kept."""
    size, decay, draws = 64, 2, []
    for level in range(6):
        n, w = 1 << level, 100 / decay**level
        words = np.empty((4, (n + 7) // 8), np.uint32)
        draws.append(np.empty((3, n, n)))
        for y in range(n):
            for kind in range(3):
                fill(words, KEY, 3 * y + kind, level)
                steps = words.reshape(-1).view(np.uint16)[:n]
                draws[-1][kind, y] = w * (steps - 32767.5) / 32768
    expected, low, high = plasma.from_draws(draws, decay)
    made = plasma.from_key(size, decay, KEY, 40, 55)
    np.testing.assert_allclose(made[0], expected[:40, :55], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(made[1:], (low, high), rtol=1e-4)
