"""Figures that others have published under the protocols of this package, for a report to set beside one's own.

>>> from fan_dense.evaluation.protocol import read_protocol
>>> first = published(read_protocol('coco-c'), 'bbox_mAP')[0]
>>> first.model, first.clean, first.mpc, first.rpc
('Faster R-CNN R50', 0.363, 0.182, 0.502)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean

from fan_dense.evaluation.protocol import Protocol, protocol_names, read_protocol


@dataclass(frozen=True, kw_only=True)
class Published:
    """A model's figures of one metric, as fractions.

    They compare to one's own only on the same ``data``; and corruptions draw at random, so that other draws differ a
    little.

    Attributes:
        protocol, metric: what was measured.
        model: its name.
        data: on which data set.
        source: the publication.
        clean, mpc, rpc: P, mPC and rPC. Where the publication gives no mPC it is the mean of ``by_corruption``, and
            where it gives no rPC, mPC / P.
        by_corruption: corruption -> mean over severities; empty where none are published.
    """

    protocol: str
    metric: str
    model: str
    data: str
    source: str
    clean: float
    mpc: float
    rpc: float
    by_corruption: Mapping[str, float] = field(default_factory=dict)


def published(protocol: Protocol, metric: str) -> tuple[Published, ...]:
    """What is published of ``metric`` under ``protocol``; nothing for a part of a protocol, or one of a user's own."""
    if protocol.name not in protocol_names() or protocol != read_protocol(protocol.name):
        return ()
    return tuple(one for one in _all() if (one.protocol, one.metric) == (protocol.name, metric))


@cache
def _all() -> tuple[Published, ...]:
    rows = json.loads((Path(__file__).parent / 'published.json').read_text())
    return tuple(Published(**_completed(row)) for row in rows)


def _completed(row: dict) -> dict:
    mpc = row['mpc'] if 'mpc' in row else fmean(row['by_corruption'].values())
    return {'mpc': mpc, 'rpc': mpc / row['clean'], **row}
