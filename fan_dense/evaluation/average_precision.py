"""AP of detections that are already matched, over images with multiplicities."""

import numba
import numpy as np

RECALLS = np.linspace(0, 1, 101)  # of COCO


def average_precisions(weights, classes, thresholds, image, label, score, matched, ignored, true_image, true_label):
    """AP as pycocotools takes it, of images that are there ``weights`` times, the copies of one after another.

    ``weights`` are (resamples, images) int32, ``classes`` and ``thresholds`` say how many there are, and the others are
    the columns of :class:`fan_dense.evaluation.records.APRecord`.

    Returns:
        (resamples, thresholds, classes); NaN for a class without true objects in a resample.
    """
    starts = np.searchsorted(label, np.arange(classes + 1))
    # equal scores of one class in one image: of two copies of the image, all of the first come before those of the next
    same = (np.diff(image) == 0) & (np.diff(label) == 0) & (np.diff(score) == 0)
    first = np.flatnonzero(np.r_[True, ~same][: len(image)])
    run = np.searchsorted(first, np.arange(len(image)), side='right') - 1
    run_start, run_end = first[run], np.r_[first, len(image)][run + 1]
    # all others are false, which is their weight in a running sum
    telling = np.flatnonzero(matched | ignored)
    telling_starts = np.searchsorted(label[telling], np.arange(classes + 1))
    found = np.full((len(weights), thresholds, classes), np.nan)
    _fill(
        found, weights, starts, image, matched, ignored, run_start, run_end, telling, telling_starts,
        true_image, true_label, RECALLS,
    )  # fmt: skip
    return found


@numba.njit(cache=True, nogil=True)
def _fill(
    found, weights, starts, image, matched, ignored, run_start, run_end, telling, telling_starts,
    true_image, true_label, recalls,
):  # fmt: skip
    resamples, thresholds, classes = found.shape
    before = np.empty(np.max(np.diff(starts)) if classes else 0, np.int64)
    for resample in range(resamples):
        weight = weights[resample]
        truths = np.zeros(classes, np.int64)
        for one in range(len(true_image)):
            truths[true_label[one]] += weight[true_image[one]]
        for label in range(classes):
            if truths[label] == 0:
                continue
            start = starts[label]
            total = 0
            for one in range(start, starts[label + 1]):
                before[one - start] = total
                total += weight[image[one]]
            most = 0
            for one in telling[telling_starts[label] : telling_starts[label + 1]]:
                most += weight[image[one]]
            precision = np.empty(most)  # after the first, second, ... true positive
            for threshold in range(thresholds):
                bit = 1 << threshold
                true = left_out = 0  # detections above the present one
                for one in telling[telling_starts[label] : telling_starts[label + 1]]:
                    copies = weight[image[one]]
                    if ignored[one] & bit:
                        left_out += copies
                    elif matched[one] & bit and copies:
                        run_true, run_left_out, above_true, above_left_out = 0, 0, 0, 0
                        for tied in range(run_start[one], run_end[one]):
                            if ignored[tied] & bit:
                                run_left_out += 1
                                above_left_out += tied < one
                            elif matched[tied] & bit:
                                run_true += 1
                                above_true += tied < one
                        run_counted = run_end[one] - run_start[one] - run_left_out
                        above_counted = one - run_start[one] - above_left_out
                        true_before = true - copies * above_true
                        counted_before = before[run_start[one] - start] - left_out + copies * above_left_out
                        for copy in range(copies):
                            now_true = true_before + copy * run_true + above_true + 1
                            now_counted = counted_before + copy * run_counted + above_counted + 1
                            precision[now_true - 1] = now_true / (now_counted + 2.0**-52)
                        true += copies
                found[resample, threshold, label] = _area(precision[:true], truths[label], recalls)


@numba.njit(cache=True, nogil=True)
def _area(precision, truths, recalls):
    """Mean over ``recalls`` of the best precision at that recall or a higher one."""
    area, best, at = 0.0, 0.0, len(recalls) - 1
    for true in range(len(precision), 0, -1):
        best = max(best, precision[true - 1])
        while at >= 0 and recalls[at] > (true - 1) / truths:
            if recalls[at] <= true / truths:
                area += best
            at -= 1
    return (area + best * (at + 1)) / len(recalls)  # what is left is a recall of 0, reached by the first detection
