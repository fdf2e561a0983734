"""The compiled kernels: typed, GIL-free, trusting. They import nothing of fastrank outside this package."""
