# UPerNet, for a backbone that the config names.
_base_ = 'mmseg::_base_/models/upernet_r50.py'

model = dict(pretrained=None, backbone=dict(_delete_=True))
