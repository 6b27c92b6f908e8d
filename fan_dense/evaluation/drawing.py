"""Predictions beside the ground truth, on the pixels that the network was given."""

import colorsys
from pathlib import Path

import cv2
import numpy as np
import pycocotools.mask
from mmengine.evaluator import BaseMetric

from fan_dense.datasets.wrappers import parts
from fan_dense.evaluation import pipeline
from fan_dense.evaluation.result import Condition

FONT = cv2.FONT_HERSHEY_SIMPLEX
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
MIN_WIDTH = 480  # pixels of a panel; smaller images are enlarged
OPACITY = 0.5


class DrawPredictions(BaseMetric):
    """One PNG an image: prediction on the left, ground truth on the right, and a caption that names the condition.

    It is an evaluator's metric without figures, because that is where predictions of detectors and segmenters pass.

    Args:
        folder: where the pictures go; the folders of the image keys are kept.
        condition: under which the image is shown, and which the caption names.
        dataset: the built test data set, to read the image at its own size and the ground truth.
        threshold: detections below this score are not drawn.
    """

    def __init__(self, folder: str | Path, condition: Condition, dataset, threshold: float = 0.3):
        super().__init__()
        self.folder = Path(folder)
        self.condition = condition
        self.threshold = threshold
        # which data set and index an image comes from
        self.origin = {
            part.get_data_info(index)['img_path']: (part, index)
            for part in parts(dataset)
            for index in range(len(part))
        }

    def process(self, data_batch, data_samples) -> None:
        for sample in data_samples:
            image, info = pipeline.corrupted_image(*self.origin[sample['img_path']], self.condition)
            key = sample['corruption']['key']
            caption = f'{self.condition.describe()}    {key}'
            if 'pred_sem_seg' in sample:
                picture = draw_segmentation(image, sample, self.dataset_meta, caption)
            else:
                picture = draw_detections(image, sample, info, self.dataset_meta, caption, self.threshold)
            path = (self.folder / key).with_suffix('.png')
            path.parent.mkdir(parents=True, exist_ok=True)
            if not cv2.imwrite(str(path), picture):
                raise OSError(f'picture {path} could not be written')

    def compute_metrics(self, results: list) -> dict:
        return {}

    def evaluate(self, size: int) -> dict:
        """Nothing is gathered from other ranks, some of which may not draw."""
        return {}


def draw_segmentation(image: np.ndarray, sample: dict, meta: dict, caption: str) -> np.ndarray:
    """Predicted and true class of every pixel over ``image`` (H, W, 3), with a legend of the classes that occur."""
    palette = np.array(colours(meta), np.uint8)
    panels, present = [], set()
    for kind in ('pred_sem_seg', 'gt_sem_seg'):
        panel = image
        if kind in sample:
            classes = sample[kind]['data'].squeeze(0).cpu().numpy()  # (1, H, W) -> (H, W)
            known = classes < len(palette)
            blended = cv2.addWeighted(image, 1 - OPACITY, palette[np.where(known, classes, 0)], OPACITY, 0)
            panel = np.where(known[..., None], blended, image)
            present.update(np.unique(classes[known]).tolist())
        panels.append(enlarged(panel))
    legend = [(meta['classes'][label], palette[label].tolist()) for label in sorted(present)]
    return composed(panels, ('prediction', 'ground truth'), caption, legend)


def draw_detections(image, sample: dict, info: dict, meta: dict, caption: str, threshold: float) -> np.ndarray:
    """Predicted instances from ``threshold`` on, and true ones, over ``image`` (H, W, 3)."""
    predicted = {name: value.cpu().numpy() for name, value in sample['pred_instances'].items() if name != 'masks'}
    masks = sample['pred_instances'].get('masks')
    # the surest last, on top
    order = [i for i in np.argsort(predicted['scores']) if predicted['scores'][i] >= threshold]
    found = [
        (predicted['labels'][i], predicted['bboxes'][i], None if masks is None else masks[i], predicted['scores'][i])
        for i in order
    ]
    true = [
        (one['bbox_label'], one['bbox'], one.get('mask'), None)
        for one in info.get('instances', ())
        if not one.get('ignore_flag', 0)
    ]
    panels = [overlay_instances(image, instances, meta) for instances in (found, true)]
    return composed(panels, (f'prediction (score from {threshold:g})', 'ground truth'), caption, [])


def overlay_instances(image: np.ndarray, instances: list[tuple], meta: dict) -> np.ndarray:
    """Draw (label, box x1 y1 x2 y2, mask or None, score or None) onto an enlarged copy of ``image`` (H, W, 3)."""
    palette = colours(meta)
    blended = image.copy()
    for label, _, mask, _ in instances:
        if mask is not None:
            inside = bitmap(mask, image.shape[:2])
            blended[inside] = (blended[inside] * (1 - OPACITY) + np.array(palette[label]) * OPACITY).astype(np.uint8)
    canvas = enlarged(blended)
    scale = canvas.shape[1] / image.shape[1]
    for label, box, _, score in instances:
        x1, y1, x2, y2 = (round(float(value) * scale) for value in box)
        cv2.rectangle(canvas, (x1, y1), (x2, y2), palette[label], 2, cv2.LINE_AA)
        _tag(canvas, meta['classes'][label] + ('' if score is None else f' {score:.2f}'), (x1, y1), palette[label])
    return canvas


def colours(meta: dict) -> list[tuple[int, int, int]]:
    """A colour (BGR) of each class: the data set's, or hues far apart where it has none."""
    palette, count = meta.get('palette'), len(meta['classes'])
    if not isinstance(palette, (list, tuple)) or len(palette) < count:
        hues = np.arange(count) * 0.618 % 1  # golden section: neighbours differ most
        palette = [[round(255 * value) for value in colorsys.hsv_to_rgb(hue, 0.8, 0.9)] for hue in hues]
    return [tuple(int(value) for value in reversed(colour)) for colour in palette]


def enlarged(image: np.ndarray) -> np.ndarray:
    """``image`` at a whole multiple of its size, its pixels kept as they are, at least :data:`MIN_WIDTH` wide."""
    scale = -(-MIN_WIDTH // image.shape[1])
    return np.ascontiguousarray(image.repeat(scale, axis=0).repeat(scale, axis=1))


def composed(panels, titles, caption: str, legend: list[tuple[str, list[int]]]) -> np.ndarray:
    """Two panels (H, W, 3) side by side below their titles and a caption, above a legend of (name, colour)."""
    height, width = panels[0].shape[:2]
    size = _font_size(width)
    strip, gap = round(44 * size), 4
    rows = _wrapped(legend, 2 * width + gap, size)
    canvas = np.full((height + (2 + len(rows)) * strip, 2 * width + gap, 3), 255, np.uint8)
    canvas[2 * strip : 2 * strip + height, :width] = panels[0]
    canvas[2 * strip : 2 * strip + height, width + gap :] = panels[1]
    base = round(0.7 * strip)
    _write(canvas, caption, (6, base), size)
    for title, x in zip(titles, (6, width + gap + 6)):
        _write(canvas, title, (x, strip + base), size)
    for row, entries in enumerate(rows):
        top = 2 * strip + height + row * strip
        for x, name, colour in entries:
            cv2.rectangle(canvas, (x, top + strip // 4), (x + strip // 2, top + 3 * strip // 4), colour, cv2.FILLED)
            _write(canvas, name, (x + round(0.7 * strip), top + base), size)
    return canvas


def bitmap(mask, size: tuple[int, int]) -> np.ndarray:
    """A mask (tensor or array (H, W), COCO polygons or run lengths) as (H, W) bool."""
    if hasattr(mask, 'cpu'):
        mask = mask.cpu().numpy()
    if isinstance(mask, np.ndarray):
        return mask.astype(bool)
    height, width = size
    if isinstance(mask, list):
        mask = pycocotools.mask.merge(pycocotools.mask.frPyObjects(mask, height, width))
    elif isinstance(mask['counts'], list):
        mask = pycocotools.mask.frPyObjects(mask, height, width)
    return pycocotools.mask.decode(mask).astype(bool)


def _font_size(width: int) -> float:
    return max(0.5, width / 2000)


def _write(canvas, text: str, corner: tuple[int, int], size: float, colour=BLACK) -> None:
    cv2.putText(canvas, text, corner, FONT, size, colour, max(1, round(size)), cv2.LINE_AA)


def _tag(canvas, text: str, corner: tuple[int, int], colour) -> None:
    """Text on a filled background above a box's top left corner, moved into the picture where it would leave it."""
    size = 0.8 * _font_size(canvas.shape[1])
    (width, height), _ = cv2.getTextSize(text, FONT, size, max(1, round(size)))
    x = max(0, min(corner[0], canvas.shape[1] - width - 2))
    y = max(height + 4, corner[1])
    cv2.rectangle(canvas, (x, y - height - 4), (x + width + 2, y + 1), colour, cv2.FILLED)
    luma = 0.114 * colour[0] + 0.587 * colour[1] + 0.299 * colour[2]
    _write(canvas, text, (x + 1, y - 2), size, WHITE if luma < 140 else BLACK)


def _wrapped(legend, width: int, size: float) -> list[list[tuple]]:
    """The legend's entries as rows of (x, name, colour) that fit into ``width``."""
    rows, x = [], width
    for name, colour in legend:
        need = round(44 * size) + cv2.getTextSize(name, FONT, size, max(1, round(size)))[0][0]
        if x + need > width:
            rows.append([])
            x = 6
        rows[-1].append((x, name, colour))
        x += need
    return rows
