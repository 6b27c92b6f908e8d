# What the corrupted configs (*_c.py) test with: in memory, at the size of the image, before any resize. For another
# condition on any config, corrupted or not: tools/test.py --corruption snow --severity 5.
corrupt = dict(
    type='Corrupt',
    corruption='fog',
    severity=3,
    seed=0,
    image_order='bgr',  # in which the published figures were made
)
