_base_ = 'mmseg::_base_/default_runtime.py'
custom_imports = dict(imports=['fan_dense'])

# iterations, not epochs, count
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50, log_metric_by_epoch=False),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=16000, max_keep_ckpts=2),
    sampler_seed=dict(type='DistSamplerSeedHook'),
)
