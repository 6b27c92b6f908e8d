# SAN-15: more blocks of the same widths.
_base_ = './san10.py'

detector = dict(backbone=dict(arch='san15'))
upernet = dict(backbone=dict(arch='san15'))
