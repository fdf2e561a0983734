"""Workspace for kernels."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc


cdef class Memory:
    def __cinit__(self, size_t size):
        self.block = malloc(size + 64)
        if self.block == NULL:
            raise MemoryError(f"expected {size:,} bytes of workspace, got none; pass fewer or shorter lists")
        self.start = <void *>((<uintptr_t>self.block + 63) & ~<uintptr_t>63)

    def __dealloc__(self):
        free(self.block)
