"""Compiled loops. Numba caches them; they use one thread, hold no lock on Python, and allocate what they return."""
