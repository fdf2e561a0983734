"""What other kernels take from the LETOR reader."""

from libc.stdint cimport uint64_t

cdef const uint64_t *pow5_table() noexcept nogil
