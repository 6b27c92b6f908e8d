# A small model from scratch on a CPU. The config that uses it says how many iterations, and lets the rate decay.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=4e-3, betas=(0.9, 0.999), weight_decay=0.05),
    clip_grad=dict(max_norm=5.0),  # the first steps of untrained heads
    paramwise_cfg=dict(norm_decay_mult=0.0, custom_keys={'pos_embed': dict(decay_mult=0.0)}),
)
train_cfg = dict(type='IterBasedTrainLoop')
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
