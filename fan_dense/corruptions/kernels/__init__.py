"""Compiled loops: numba compiles one when it is first called, and caches the machine code next to the file.

They run on the calling thread alone and without Python's lock. Nothing is contracted or reordered behind the source
(no ``fastmath``), so the same input gives the same pixels on every processor. Who changes a function that a loop in
another file calls must delete the caches (``*.nbi`` in ``__pycache__``): numba looks only at the caller's file.
"""
