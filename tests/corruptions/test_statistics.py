"""The draws of a Generator have the distribution of the published ones.

Both paths corrupt the same images with independent seeds, and statistics of (out - in) per grey level are compared by
two-sample tests. The family-wise error rate of each test function is ALPHA (Bonferroni); the seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from fan_dense.corruptions import corrupt, draw, seed_for

ALPHA = 1e-3
LEVELS = np.arange(0, 256, 15)
BINS = np.array([-255, -96, -48, -24, -12, -4, 0, 1, 5, 13, 25, 49, 97, 256])

PER_SAMPLE = ('gaussian_noise', 'shot_noise', 'impulse_noise', 'speckle_noise')
PER_IMAGE = ('glass_blur', 'motion_blur', 'snow', 'frost', 'fog', 'elastic_transform', 'spatter')


def flat_levels(pixels: int) -> np.ndarray:
    """A row of ``pixels`` grey pixels for each of LEVELS, two rows each."""
    return np.repeat(LEVELS[:, None, None], 3, axis=2).repeat(pixels, axis=1).repeat(2, axis=0).astype(np.uint8)


@pytest.mark.parametrize('severity', [1, 3, 5])
@pytest.mark.parametrize('name', PER_SAMPLE)
def test_noise_per_grey_level(name, severity):
    """Of independent samples: mean (Welch's test), variance (squared deviations, Welch) and histogram (chi2)."""
    image = flat_levels(12000)
    fast = corrupt(image, name, severity, rng=seed_for(0, 'noise', name, severity)).astype(int) - image
    published = corrupt(image, name, severity, rng=np.random.RandomState(severity)).astype(int) - image
    limit = ALPHA / (3 * len(LEVELS))
    for k in range(len(LEVELS)):
        a, b = (out[2 * k : 2 * k + 2].ravel() for out in (fast, published))
        if np.ptp(np.concatenate([a, b])) == 0:  # black has no shot or speckle noise
            continue
        assert stats.ttest_ind(a, b, equal_var=False).pvalue > limit
        spread_a, spread_b = ((values - values.mean()) ** 2 for values in (a, b))
        assert stats.ttest_ind(spread_a, spread_b, equal_var=False).pvalue > limit
        assert two_histograms(a, b) > limit


def two_histograms(a: np.ndarray, b: np.ndarray) -> float:
    """p-value of the chi2 test that two samples of integers have one distribution; rare values are pooled."""
    values = np.arange(min(a.min(), b.min()), max(a.max(), b.max()) + 2)
    table = np.array([np.histogram(sample, values)[0] for sample in (a, b)])
    common = table.sum(axis=0) >= 20
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def steps() -> np.ndarray:
    """An image of grey steps and of a ramp (64, 64, 3), on which shifts and blurs leave traces."""
    x = np.repeat([0, 60, 120, 180, 240, 255, 30, 90], 8)
    image = np.where(np.arange(64)[:, None] % 32 < 16, x[None], x[::-1][None])
    return np.repeat(image[:, :, None], 3, axis=2).astype(np.uint8)


def summary(out: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Mean, variance and histogram (shares in BINS) of out - in, per grey level of the image."""
    columns = []
    for level in np.unique(image):
        difference = out[image == level].astype(float) - level
        shares = np.histogram(difference, BINS)[0] / difference.size
        columns += [difference.mean(), difference.var(), *shares]
    return np.array(columns)


@pytest.mark.parametrize('severity', [1, 3, 5])
@pytest.mark.parametrize('name', PER_IMAGE)
def test_fields_per_grey_level(name, severity):
    """Of dependent samples: each statistic of :func:`summary` over many images, by Kolmogorov and Smirnov's test."""
    image = steps()
    fast, published = (
        np.array([summary(corrupt(image, name, severity, rng=rng(k)), image) for k in range(150)])
        for rng in (
            lambda k: seed_for(k, 'field', name, severity),
            lambda k: np.random.RandomState(1000 * severity + k),
        )
    )
    varies = np.ptp(np.concatenate([fast, published]), axis=0) > 0
    assert varies.sum() >= 20
    pvalues = stats.ks_2samp(fast[:, varies], published[:, varies], method='asymp').pvalue
    assert pvalues.min() > ALPHA / varies.sum(), np.argmin(pvalues)


def test_the_test_would_notice():
    """Fog of the next severity, and noise (standard deviation 20) that is shifted by one grey level."""
    image = steps()
    one, two = (
        np.array([summary(corrupt(image, 'fog', s, rng=seed_for(k, 'field', 'fog', s)), image) for k in range(150)])
        for s in (2, 3)
    )
    varies = np.ptp(np.concatenate([one, two]), axis=0) > 0
    assert stats.ks_2samp(one[:, varies], two[:, varies], method='asymp').pvalue.min() < ALPHA / varies.sum()
    flat = flat_levels(12000)
    first, second = (corrupt(flat, 'gaussian_noise', 1, rng=seed_for(k, '', 'gaussian_noise', 1)) for k in (0, 1))
    first, second = (out[16:18].astype(int).ravel() for out in (first, second))
    assert two_histograms(first, second + 1) < ALPHA / (3 * len(LEVELS)) < two_histograms(first, second)


@pytest.mark.parametrize(
    ('name', 'parameter', 'low', 'high'), [('motion_blur', 'angle', -45, 45), ('snow', 'angle', -135, -45)]
)
def test_angles_are_uniform(name, parameter, low, high):
    image = steps()
    angles = [draw(image, name, 3, rng=seed_for(k, '', name, 3))[parameter] for k in range(400)]
    assert stats.kstest(angles, stats.uniform(low, high - low).cdf).pvalue > ALPHA


def test_frost_picks_every_texture_and_place():
    image = steps()
    draws = [draw(image, 'frost', 3, rng=seed_for(k, '', 'frost', 3)) for k in range(600)]
    assert stats.chisquare(np.bincount([d['index'] for d in draws], minlength=5)).pvalue > ALPHA
