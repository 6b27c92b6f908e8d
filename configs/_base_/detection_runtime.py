_base_ = 'mmdet::_base_/default_runtime.py'
custom_imports = dict(imports=['fan_dense'])

default_hooks = dict(checkpoint=dict(max_keep_ckpts=2))
