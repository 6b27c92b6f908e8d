"""Fully attentional backbones for robust dense prediction, in the OpenMMLab dialect.

``import fan_dense`` is all that a config needs (``custom_imports = dict(imports=['fan_dense'])``). It takes
milliseconds and loads neither torch nor OpenMMLab: it only arranges that mmdet and mmseg find their operators, and
that our models, transforms and data sets are registered as soon as the package that owns the registry is imported.
"""

from fan_dense import registration
from fan_dense.compat import stand_in

__version__ = '0.1.0'

stand_in.install()
registration.install()
