"""Looking into built data sets, through wrappers such as ``ConcatDataset`` and ``RepeatDataset``."""

from collections.abc import Iterator


def parts(dataset) -> Iterator:
    """The data sets with images inside wrappers."""
    if hasattr(dataset, 'datasets'):
        for one in dataset.datasets:
            yield from parts(one)
    elif hasattr(dataset, 'dataset'):
        yield from parts(dataset.dataset)
    else:
        yield dataset


def check_classes(dataset) -> None:
    """Raise a ValueError if a COCO annotation file lacks some of its data set's classes.

    mmdet then numbers those that it finds anew, so that a model's classes would be scored as others.
    """
    for part in parts(dataset):
        found, classes = getattr(part, 'cat_ids', None), part.metainfo.get('classes', ())
        if found is not None and len(found) != len(classes):
            raise ValueError(
                f'{part.ann_file} has categories for {len(found)} of the {len(classes)} classes of '
                f'{type(part).__name__}: name those that it has by metainfo=dict(classes=...) in the data set, and set '
                'num_classes of the model'
            )
