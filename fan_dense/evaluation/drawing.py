"""Predictions beside the ground truth, on the pixels that the network was given."""

from pathlib import Path

import cv2
import numpy as np
from mmengine.evaluator import BaseMetric
from pycocotools import mask as coco_mask

from fan_dense.evaluation import pipeline
from fan_dense.evaluation.result import Condition

FONT = cv2.FONT_HERSHEY_SIMPLEX
STRIP, GAP = 22, 4  # heights and widths in pixels
OPACITY = 0.5


class DrawPredictions(BaseMetric):
    """One PNG an image: prediction on the left, ground truth on the right, and a caption that names the condition.

    It is an evaluator's metric without figures, because that is where predictions of detectors and segmenters pass.

    Args:
        folder: where the pictures go; the folders of the image keys are kept.
        condition: for the caption.
        dataset: the built test data set, to read the image at its own size and the ground truth.
        threshold: detections below this score are not drawn.
    """

    def __init__(self, folder, condition: Condition, dataset, threshold: float = 0.3):
        super().__init__()
        self.folder = Path(folder)
        self.condition = condition
        self.threshold = threshold
        # which data set and index an image comes from
        self.origin = {
            part.get_data_info(index)['img_path']: (part, index)
            for part in pipeline.parts(dataset)
            for index in range(len(part))
        }

    def process(self, data_batch, data_samples) -> None:
        for sample in data_samples:
            image, info = pipeline.corrupted_image(*self.origin[sample['img_path']])
            draw = draw_segmentation if 'pred_sem_seg' in sample else draw_detections
            left, right = draw(image, sample, info, self.dataset_meta, self.threshold)
            key = sample['corruption']['key']
            picture = side_by_side(left, right, f'{self.condition}  {key}')
            path = (self.folder / key).with_suffix('.png')
            path.parent.mkdir(parents=True, exist_ok=True)
            if not cv2.imwrite(str(path), picture):
                raise OSError(f'{path} could not be written')
            self.results.append(None)  # a metric without results counts as forgotten

    def compute_metrics(self, results: list) -> dict:
        return {}


def draw_segmentation(image, sample, info, meta, threshold):
    """Predicted and true class of every pixel over ``image`` (H, W, 3)."""
    palette = np.array(meta['palette'], np.uint8)[:, ::-1]  # RGB -> BGR
    return [
        overlay_classes(image, _grid(sample[kind]['data']), palette) if kind in sample else image.copy()
        for kind in ('pred_sem_seg', 'gt_sem_seg')
    ]


def draw_detections(image, sample, info, meta, threshold):
    """Predicted and true instances over ``image`` (H, W, 3)."""
    predicted = sample['pred_instances']
    keep = [i for i, score in enumerate(predicted['scores'].tolist()) if score >= threshold]
    masks = predicted.get('masks')
    left = overlay_instances(
        image,
        boxes=predicted['bboxes'].cpu().numpy()[keep],
        labels=predicted['labels'].cpu().numpy()[keep],
        masks=None if masks is None else [_bitmap(masks[i], image.shape[:2]) for i in keep],
        scores=predicted['scores'].cpu().numpy()[keep],
        meta=meta,
    )
    instances = [one for one in info.get('instances', ()) if not one.get('ignore_flag', 0)]
    right = overlay_instances(
        image,
        boxes=np.array([one['bbox'] for one in instances]).reshape(-1, 4),
        labels=np.array([one['bbox_label'] for one in instances], int),
        masks=[_bitmap(one['mask'], image.shape[:2]) for one in instances]
        if all('mask' in o for o in instances)
        else None,
        scores=None,
        meta=meta,
    )
    return left, right


def overlay_classes(image: np.ndarray, classes: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Blend ``image`` (H, W, 3) with the colours of ``classes`` (H, W); pixels outside the palette stay as they are."""
    known = classes < len(palette)
    colours = palette[np.where(known, classes, 0)]
    blended = image * (1 - OPACITY) + colours * OPACITY
    return np.where(known[..., None], blended, image).astype(np.uint8)


def overlay_instances(image, boxes, labels, masks, scores, meta) -> np.ndarray:
    """Draw boxes (N, 4) as x1 y1 x2 y2, masks (N of (H, W) bool) and class names onto a copy of ``image``."""
    canvas = image.copy()
    palette = [tuple(int(v) for v in reversed(colour)) for colour in meta['palette']]
    if masks is not None:
        for mask, label in zip(masks, labels):
            canvas[mask] = (canvas[mask] * (1 - OPACITY) + np.array(palette[label]) * OPACITY).astype(np.uint8)
    for i, (box, label) in enumerate(zip(boxes, labels)):
        x1, y1, x2, y2 = (round(float(v)) for v in box)
        cv2.rectangle(canvas, (x1, y1), (x2, y2), palette[label], 1, cv2.LINE_AA)
        text = meta['classes'][label] + (f' {scores[i]:.2f}' if scores is not None else '')
        _label(canvas, text, (x1, y1), palette[label])
    return canvas


def side_by_side(left: np.ndarray, right: np.ndarray, caption: str) -> np.ndarray:
    """Two (H, W, 3) pictures next to each other under a strip that says what they are; small ones are enlarged."""
    scale = max(1, round(480 / left.shape[1]))
    left, right = (np.kron(one, np.ones((scale, scale, 1), np.uint8)) for one in (left, right))
    height, width = left.shape[:2]
    canvas = np.full((height + 2 * STRIP, 2 * width + GAP, 3), 255, np.uint8)
    canvas[2 * STRIP :, :width] = left
    canvas[2 * STRIP :, width + GAP :] = right
    for text, x, y in ((caption, 6, 1), ('prediction', 6, 2), ('ground truth', width + GAP + 6, 2)):
        cv2.putText(canvas, text, (x, y * STRIP - 6), FONT, 0.45, (0, 0, 0), 1, cv2.LINE_AA)
    return canvas


def _label(canvas, text, corner, colour) -> None:
    """Text on a filled background at a box's top left corner, moved into the picture where it would leave it."""
    (width, height), _ = cv2.getTextSize(text, FONT, 0.35, 1)
    x = max(0, min(corner[0], canvas.shape[1] - width - 2))
    y = max(height + 3, corner[1])
    cv2.rectangle(canvas, (x, y - height - 3), (x + width + 1, y), colour, cv2.FILLED)
    dark = sum(colour) < 3 * 128
    cv2.putText(canvas, text, (x, y - 2), FONT, 0.35, (255, 255, 255) if dark else (0, 0, 0), 1, cv2.LINE_AA)


def _grid(data) -> np.ndarray:
    return data.squeeze(0).cpu().numpy()


def _bitmap(mask, size: tuple[int, int]) -> np.ndarray:
    """A mask (tensor, array, COCO polygons or run lengths) as (H, W) bool."""
    if hasattr(mask, 'cpu'):
        return mask.cpu().numpy().astype(bool)
    if isinstance(mask, np.ndarray):
        return mask.astype(bool)
    height, width = size
    if isinstance(mask, list):
        mask = coco_mask.merge(coco_mask.frPyObjects(mask, height, width))
    elif isinstance(mask['counts'], list):
        mask = coco_mask.frPyObjects(mask, height, width)
    return coco_mask.decode(mask).astype(bool)
