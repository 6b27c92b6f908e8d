# Beside a clean config in the bases of a corrupted one: fails the run if the pixels have not changed, whichever tool
# runs it.
custom_hooks = [dict(type='PixelGuard')]
