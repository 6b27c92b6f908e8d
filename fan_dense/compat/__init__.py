"""What lets mmcv, mmdet and mmseg run on today's torch without a compiler."""
