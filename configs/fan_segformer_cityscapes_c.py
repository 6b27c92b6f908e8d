# Cityscapes-C: the validation frames, each corrupted in memory. Choose another condition by --cfg-options
# corruption=snow severity=5 (tools/test.py --corruption snow --severity 5 does the same, on any config).
_base_ = './fan_segformer_cityscapes.py'

corruption = 'fog'
severity = 3
corruption_seed = 0
image_order = 'bgr'  # in which the published figures were made

load, *rest, pack = _base_.test_pipeline
test_pipeline = [
    load,
    dict(
        type='Corrupt',
        corruption=corruption,
        severity=severity,
        seed=corruption_seed,
        image_order=image_order,
        prefix=f'{_base_.data_root}/leftImg8bit/val',
    ),
    *rest,
    dict(pack, meta_keys=('img_path', 'seg_map_path', 'ori_shape', 'img_shape', 'scale_factor', 'corruption')),
]
del load, rest, pack
test_dataloader = dict(dataset=dict(pipeline=test_pipeline))
# fails the run if the pixels have not changed, whichever tool runs it
custom_hooks = [dict(type='PixelGuard')]
