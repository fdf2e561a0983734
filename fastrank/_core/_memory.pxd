cdef class Memory:
    """Bytes aligned to cache lines, freed with the object."""

    cdef void *block
    cdef void *start
