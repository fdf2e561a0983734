"""Slow, obviously right twins of the kernels, written from the formulas."""
