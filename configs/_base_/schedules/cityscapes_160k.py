# 160,000 iterations x batch 8 (8 GPUs x 1) / 2,975 images = 430 epochs, as published for FAN on Cityscapes.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=6e-5, betas=(0.9, 0.999), weight_decay=0.01),
    # no weight decay on the backbone's norms and position encodings (the table is Swin's); the heads start from nothing
    # and learn ten times as fast
    paramwise_cfg=dict(
        norm_decay_mult=0.0,
        custom_keys={
            'pos_embed': dict(decay_mult=0.0),
            'relative_position_bias_table': dict(decay_mult=0.0),
            'head': dict(lr_mult=10.0),
        },
    ),
)
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-6, by_epoch=False, begin=0, end=1500),
    dict(type='PolyLR', eta_min=0.0, power=1.0, begin=1500, end=160000, by_epoch=False),
]
train_cfg = dict(type='IterBasedTrainLoop', max_iters=160000, val_interval=16000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
auto_scale_lr = dict(enable=False, base_batch_size=8)
