# 36 epochs x 117,266 images / batch 16 (8 GPUs x 2) = 264,000 iterations, as published for FAN on COCO.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=1e-4, betas=(0.9, 0.999), weight_decay=0.05),
    # no weight decay on norms and position encodings (the table is Swin's)
    paramwise_cfg=dict(
        norm_decay_mult=0.0,
        custom_keys={'pos_embed': dict(decay_mult=0.0), 'relative_position_bias_table': dict(decay_mult=0.0)},
    ),
)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=1000),
    dict(type='MultiStepLR', by_epoch=True, begin=0, end=36, milestones=[27, 33], gamma=0.1),
]
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=36, val_interval=1)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
auto_scale_lr = dict(enable=False, base_batch_size=16)
