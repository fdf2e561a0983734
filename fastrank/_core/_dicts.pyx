"""Runs and judgements that are dictionaries, {query: {document: value}}, to grades in rank order.

(a) Judgements are read once: per query a small open-addressing table from the hashes that strings carry to grades.
    A run is read once: each document costs one step of the walk, its hash and one look into a table that is in cache.
(b) Documents are sorted by packed keys, the bits of the score above the row. Strings are compared only inside blocks of
    equal scores whose grades differ.
(c) The walk holds borrowed references. Between taking and last using them nothing runs Python code: keys are exact
    strings, scores are floats or integers (subclasses are read without calling their methods). Anything else makes the
    caller's `convert` return a plain copy first. Without a GIL the walk is over a copy.
"""

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcpy, memset

from fastrank._core._csrc cimport FR_PREFETCH, FR_SORT_PAD, fr_sort


cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    enum { FR_HAS_GIL = 0 };
    #else
    enum { FR_HAS_GIL = 1 };
    #endif
    """
    enum:
        FR_HAS_GIL

cdef extern from "Python.h":
    bint PyDict_Check(object)
    bint PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **) noexcept
    dict PyDict_Copy(object)
    Py_ssize_t PyDict_Size(object) except -1
    bint PyFloat_Check(PyObject *) noexcept
    bint PyFloat_CheckExact(PyObject *) noexcept
    bint PyLong_Check(PyObject *) noexcept
    bint PyUnicode_CheckExact(PyObject *) noexcept
    double PyFloat_AsDouble(PyObject *) noexcept
    double PyLong_AsDouble(PyObject *) noexcept
    long long PyLong_AsLongLongAndOverflow(PyObject *, int *) noexcept
    Py_hash_t PyObject_Hash(PyObject *) noexcept
    const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *) noexcept
    int PyUnicode_Compare(PyObject *, PyObject *) noexcept nogil
    PyObject *PyErr_Occurred() noexcept
    const Py_ssize_t PY_SSIZE_T_MAX
    void PyErr_Clear() noexcept


cdef struct Judgement:
    Py_hash_t hash
    PyObject *doc
    int32_t grade


cdef struct Tied:
    PyObject *doc
    int32_t grade


cdef struct Text:
    const char *bytes
    Py_ssize_t length


cdef struct Found:
    int32_t row
    int32_t judgement


# What a walk over one dictionary ended with, where it is not the number of documents.
cdef enum:
    NOT_PLAIN = -1
    IS_NAN = -2


cdef int _grow(void **block, Py_ssize_t *capacity, Py_ssize_t n, size_t itemsize) except -1:
    """Make room for n items, at least doubling what there is."""
    cdef Py_ssize_t wanted
    cdef void *larger
    if n <= capacity[0] and block[0] != NULL:
        return 0
    wanted = max(n, 2 * capacity[0], 64)
    larger = realloc(block[0], wanted * itemsize)
    if larger == NULL:
        raise MemoryError(f"expected memory for {wanted:,} documents, got none")
    block[0] = larger
    capacity[0] = wanted
    return 0


cdef class _Workspace:
    """Buffers for one query, as long as the longest so far."""

    cdef int64_t *keys
    cdef int64_t *work
    cdef PyObject **docs
    cdef int32_t *grades
    cdef Found *found
    cdef Tied *tied
    cdef Text *texts
    cdef int64_t *tie_keys
    cdef char *is_found
    cdef Py_ssize_t[9] capacity
    cdef int32_t unjudged
    cdef int level
    cdef int32_t *out  # where the grades of the next run go, and how many fit
    cdef Py_ssize_t room
    cdef int32_t *missing
    cdef Py_ssize_t n_missing

    cdef int reserve(self, Py_ssize_t n, Py_ssize_t n_judged) except -1:
        _grow(<void **>&self.keys, &self.capacity[0], n + FR_SORT_PAD, sizeof(int64_t))
        _grow(<void **>&self.work, &self.capacity[1], n + FR_SORT_PAD, sizeof(int64_t))
        _grow(<void **>&self.docs, &self.capacity[2], n, sizeof(PyObject *))
        _grow(<void **>&self.grades, &self.capacity[3], n, sizeof(int32_t))
        _grow(<void **>&self.found, &self.capacity[4], n, sizeof(Found))
        _grow(<void **>&self.tied, &self.capacity[5], n, sizeof(Tied))
        _grow(<void **>&self.texts, &self.capacity[6], n, sizeof(Text))
        _grow(<void **>&self.tie_keys, &self.capacity[7], n + FR_SORT_PAD, sizeof(int64_t))
        _grow(<void **>&self.is_found, &self.capacity[8], n_judged, 1)
        return 0

    cdef int write(self, Py_ssize_t n) except -1:
        """Write the grades of n sorted keys, and order tied documents whose grades differ."""
        cdef Py_ssize_t rank, start, end, n_ties = 0
        cdef int32_t *out = self.out
        for rank in range(n):
            out[rank] = self.grades[<uint32_t>self.keys[rank]]
        for rank in range(1, n):
            n_ties += (self.keys[rank] >> 32 == self.keys[rank - 1] >> 32) & (out[rank] != out[rank - 1])
        self.out += n
        self.room -= n
        if n_ties == 0:
            return 0
        # an error inside, even one that is cleared, may collect garbage, and so run anything
        for rank in range(n):
            Py_INCREF(<object>self.docs[rank])
        start = 0
        while start < n:
            end = start + 1
            while end < n and self.keys[end] >> 32 == self.keys[start] >> 32:
                end += 1
            self._order_ties(out, start, end)
            start = end
        for rank in range(n):
            Py_DECREF(<object>self.docs[rank])
        return 0

    cdef void _order_ties(self, int32_t *out, Py_ssize_t start, Py_ssize_t end) noexcept:
        """Grades of a tied block by document descending: a sort of prefixes, then strings where prefixes are equal."""
        cdef Py_ssize_t i, j, n = end - start, n_different = 0
        cdef int shift
        for i in range(start + 1, end):
            n_different += out[i] != out[start]
        if n_different == 0:
            return
        shift = self._make_tie_keys(start, n)
        fr_sort(self.level).sort(self.tie_keys, n, n, self.work)
        for i in range(n):
            j = <uint32_t>self.keys[start + (self.tie_keys[i] & ((<int64_t>1 << shift) - 1))]
            self.tied[i].doc, self.tied[i].grade = self.docs[j], self.grades[j]
        i = 0
        while i < n:
            j = i + 1
            while j < n and self.tie_keys[j] >> shift == self.tie_keys[i] >> shift:
                j += 1
            if j - i > 1:
                qsort(self.tied + i, j - i, sizeof(Tied), _by_document)
            i = j
        for i in range(n):
            out[start + i] = self.tied[i].grade

    cdef int _make_tie_keys(self, Py_ssize_t start, Py_ssize_t n) noexcept:
        """Keys that ascend as documents descend, above the place in the block. Returns the bits of the place.

        A key holds the first bytes of UTF-8 (whose order is that of the characters) after what all documents of the
        block have in common; nothing where one has no UTF-8 (a lone surrogate).
        """
        cdef Py_ssize_t i, at, common = PY_SSIZE_T_MAX
        cdef Text text
        cdef Text first
        cdef uint64_t prefix
        cdef int shift = 16 if n <= 65536 else 32
        for i in range(n):
            text.bytes = PyUnicode_AsUTF8AndSize(self.docs[<uint32_t>self.keys[start + i]], &text.length)
            if text.bytes == NULL:
                PyErr_Clear()
                for at in range(n):
                    self.tie_keys[at] = at
                return shift
            self.texts[i] = text
            if i == 0:
                first = text
            at, common = 0, min(common, text.length)
            while at < common and text.bytes[at] == first.bytes[at]:
                at += 1
            common = at
        for i in range(n):
            text = self.texts[i]
            prefix = 0
            if text.length - common >= 8:
                for at in range(8):
                    prefix = prefix << 8 | <unsigned char>text.bytes[common + at]
            else:
                for at in range(common, common + 8):
                    prefix = prefix << 8 | (<unsigned char>text.bytes[at] if at < text.length else 0)
            self.tie_keys[i] = <int64_t>(~prefix >> 1 >> shift << shift | <uint64_t>i)
        return shift

    def __dealloc__(self):
        free(self.keys)
        free(self.work)
        free(self.docs)
        free(self.grades)
        free(self.found)
        free(self.tied)
        free(self.texts)
        free(self.tie_keys)
        free(self.is_found)


cdef class Judgements:
    """Grades of the judged documents of each query. Documents with negative grades are left out: they are unjudged.

    `pairs` are (query, {document: grade}); `convert(query, documents)` returns a dict of strings and int32 integers.
    """

    cdef readonly dict places  # query to place, in the order given
    cdef list docs
    cdef Judgement *items
    cdef Py_ssize_t n_items, items_capacity
    cdef int32_t *slots
    cdef Py_ssize_t n_slots, slots_capacity
    cdef int64_t *bounds  # of query q: first item, first slot; then those of query q + 1
    cdef Py_ssize_t n_places, bounds_capacity
    cdef readonly int32_t highest  # grade, 0 if there is none

    def __init__(self, list pairs not None, convert):
        cdef Py_ssize_t first, n
        if self.bounds != NULL:
            raise RuntimeError("expected one call, got another: judgements do not change")
        self.places, self.docs = {}, []
        _grow(<void **>&self.bounds, &self.bounds_capacity, 2, sizeof(int64_t))
        self.bounds[0] = self.bounds[1] = 0
        for query, docs in pairs:
            first = self.n_items
            n = -1
            if PyDict_Check(docs):
                n = self._read(docs if FR_HAS_GIL else PyDict_Copy(docs))
            if n < 0:
                self._drop_from(first)
                n = self._read(convert(query, docs))
                if n < 0:
                    raise TypeError(f"expected strings and integers from convert, got others for {query!r}")
            self._make_slots(first)
            self.places[query] = self.n_places
            _grow(<void **>&self.bounds, &self.bounds_capacity, 2 * self.n_places + 4, sizeof(int64_t))
            self.n_places += 1
            self.bounds[2 * self.n_places] = self.n_items
            self.bounds[2 * self.n_places + 1] = self.n_slots

    def __dealloc__(self):
        free(self.items)
        free(self.slots)
        free(self.bounds)

    def n_judged(self, list places not None):
        """How many judged documents the queries at these places have together."""
        cdef Py_ssize_t place, total = 0
        for place in places:
            if not 0 <= place < self.n_places:
                raise ValueError(f"expected places below {self.n_places}, got {place}")
            total += self.bounds[2 * place + 2] - self.bounds[2 * place]
        return total

    def select(self, list queries not None, list runs not None, convert):
        """Queries that are judged, their runs (by `convert` if they are no dicts) and places, and documents in all."""
        cdef Py_ssize_t q, n_rows = 0
        cdef list chosen = [], chosen_runs = [], places = []
        if len(queries) != len(runs):
            raise RuntimeError("expected a run that stays the same while it is read, got one that changed")
        for q in range(len(queries)):
            place = self.places.get(queries[q])
            if place is not None:
                docs = runs[q]
                if not PyDict_Check(docs):
                    docs = convert(queries[q], docs)
                n_rows += PyDict_Size(docs)
                chosen.append(queries[q])
                chosen_runs.append(docs)
                places.append(place)
        return chosen, chosen_runs, places, n_rows

    cdef Py_ssize_t _read(self, docs) except -2:
        """Append the documents of one query; NOT_PLAIN if something needs converting."""
        cdef Py_ssize_t position = 0
        cdef PyObject *doc
        cdef PyObject *value
        cdef long long grade
        cdef int overflow
        cdef Judgement *item
        _grow(<void **>&self.items, &self.items_capacity, self.n_items + PyDict_Size(docs), sizeof(Judgement))
        while PyDict_Next(<PyObject *>docs, &position, &doc, &value):
            if not (PyUnicode_CheckExact(doc) and PyLong_Check(value)):
                return NOT_PLAIN
            grade = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow or not INT32_MIN <= grade <= INT32_MAX:
                return NOT_PLAIN
            if grade < 0:
                continue
            item = &self.items[self.n_items]
            item.doc, item.grade, item.hash = doc, <int32_t>grade, PyObject_Hash(doc)
            self.highest = max(self.highest, item.grade)
            self.docs.append(<object>doc)
            self.n_items += 1
        return PyDict_Size(docs)

    cdef int _drop_from(self, Py_ssize_t first) except -1:
        self.n_items = first
        del self.docs[first:]
        return 0

    cdef int _make_slots(self, Py_ssize_t first) except -1:
        """Build the table of the last query: at most half full, a power of two long."""
        cdef Py_ssize_t n = self.n_items - first, size = 4, i, slot
        cdef int32_t *slots
        while size < 2 * n:
            size *= 2
        _grow(<void **>&self.slots, &self.slots_capacity, self.n_slots + size, sizeof(int32_t))
        slots = self.slots + self.n_slots
        memset(slots, 0xFF, size * sizeof(int32_t))
        for i in range(n):
            slot = self.items[first + i].hash & (size - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = <int32_t>i
        self.n_slots += size
        return 0

    def rank_into(self, list queries not None, list runs not None, list places not None, convert, int32_t unjudged,
                  int level, int32_t[::1] grades not None, int64_t[::1] qptr not None, int32_t[::1] missing not None,
                  int64_t[::1] missing_ptr not None):
        """Grades of each run by score (rounded to float32), then document, both descending; `unjudged` without one.

        runs[q] is {document: score} of the query judged at places[q]; `convert(queries[q], runs[q])` returns a dict of
        strings and floats. `missing` receives the grades of judged documents that are not in the run. Returns the
        first q whose run has a NaN, or -1.
        """
        cdef _Workspace work = _Workspace()
        cdef Py_ssize_t n_queries = len(queries), q, place, n
        if not (len(runs) == len(places) == n_queries and qptr.shape[0] == missing_ptr.shape[0] == n_queries + 1):
            raise ValueError("expected one run and place per query, and one more of both offsets")
        if missing.shape[0] != self.n_judged(places):
            raise ValueError(f"expected room for all judged documents, got room for {missing.shape[0]}")
        work.unjudged, work.level = unjudged, level
        work.out = &grades[0] if grades.shape[0] > 0 else NULL
        work.room = grades.shape[0]
        work.missing = &missing[0] if missing.shape[0] > 0 else NULL
        qptr[0] = missing_ptr[0] = 0
        for q in range(n_queries):
            docs, place = runs[q], places[q]
            n = NOT_PLAIN
            if PyDict_Check(docs):
                n = self._rank(work, docs if FR_HAS_GIL else PyDict_Copy(docs), place)
            if n == NOT_PLAIN:
                docs = convert(queries[q], docs)
                n = self._rank(work, docs, place)
            if n == IS_NAN:
                return q
            if n == NOT_PLAIN:
                raise TypeError(f"expected strings and floats from convert, got others for {queries[q]!r}")
            qptr[q + 1] = grades.shape[0] - work.room
            missing_ptr[q + 1] = missing_ptr[q] + work.n_missing
        return -1

    cdef Py_ssize_t _rank(self, _Workspace work, docs, Py_ssize_t place) except -3:
        """Append the grades of one run, and of what it misses. Returns 0, NOT_PLAIN or IS_NAN."""
        cdef Judgement *items = self.items + self.bounds[2 * place]
        cdef int32_t *slots = self.slots + self.bounds[2 * place + 1]
        cdef Py_ssize_t n_items = self.bounds[2 * place + 2] - self.bounds[2 * place]
        cdef Py_ssize_t mask = self.bounds[2 * place + 3] - self.bounds[2 * place + 1] - 1
        cdef Py_ssize_t size = PyDict_Size(docs), position = 0, n = 0, n_found = 0, slot, i
        cdef PyObject *doc
        cdef PyObject *value
        cdef double wide
        cdef float score
        cdef int32_t bits, j
        cdef Py_hash_t hash_
        if size > work.room or size >= INT32_MAX:
            raise RuntimeError("expected runs that stay the same while they are read, got one that grew")
        work.reserve(size, n_items)
        while PyDict_Next(<PyObject *>docs, &position, &doc, &value):
            if PyFloat_CheckExact(value) or PyFloat_Check(value):
                wide = PyFloat_AsDouble(value)
            elif PyLong_Check(value):
                wide = PyLong_AsDouble(value)
                if wide == -1.0 and PyErr_Occurred() != NULL:
                    PyErr_Clear()
                    return NOT_PLAIN
            else:
                return NOT_PLAIN
            if not PyUnicode_CheckExact(doc):
                return NOT_PLAIN
            # adding 0 makes -0 and 0 equal
            score = <float>wide + <float>0.0
            if score != score:
                return IS_NAN
            # The bits of a float, as integers with the lower ones of negative numbers flipped, are in its order.
            memcpy(&bits, &score, sizeof(bits))
            bits = ~(bits ^ ((bits >> 31) & INT32_MAX))
            work.keys[n] = <int64_t>(<uint64_t>bits << 32 | <uint64_t>n)
            work.docs[n] = doc
            work.grades[n] = work.unjudged
            hash_ = PyObject_Hash(doc)
            slot = hash_ & mask
            while slots[slot] >= 0:
                j = slots[slot]
                if items[j].hash == hash_:
                    # compared below, when the string has come from memory
                    FR_PREFETCH(items[j].doc)
                    work.found[n_found].row, work.found[n_found].judgement = <int32_t>n, j
                    n_found += 1
                    break
                slot = (slot + 1) & mask
            n += 1
        memset(work.is_found, 0, n_items)
        for i in range(n_found):
            doc = work.docs[work.found[i].row]
            j = _find(doc, work.found[i].judgement, items, slots, mask)
            if j >= 0:
                work.is_found[j] = 1
                work.grades[work.found[i].row] = items[j].grade
        work.n_missing = 0
        for i in range(n_items):
            if not work.is_found[i]:
                work.missing[work.n_missing] = items[i].grade
                work.n_missing += 1
        work.missing += work.n_missing
        fr_sort(work.level).sort(work.keys, n, n, work.work)
        work.write(n)
        return 0


cdef int32_t _find(PyObject *doc, int32_t likely, const Judgement *items, const int32_t *slots,
                   Py_ssize_t mask) noexcept:
    """The judgement of a document, -1 if there is none; `likely` is the first with its hash."""
    cdef Py_ssize_t slot
    if items[likely].doc == doc or PyUnicode_Compare(items[likely].doc, doc) == 0:
        return likely
    slot = items[likely].hash & mask
    while slots[slot] >= 0:
        if items[slots[slot]].hash == items[likely].hash and PyUnicode_Compare(items[slots[slot]].doc, doc) == 0:
            return slots[slot]
        slot = (slot + 1) & mask
    return -1


cdef int _by_document(const void *left, const void *right) noexcept nogil:
    """Descending order of tied documents."""
    return PyUnicode_Compare((<const Tied *>right).doc, (<const Tied *>left).doc)


def results(list queries not None, list keys not None, const double[:, ::1] values not None):
    """`{query: {key: values[m, q] for m, key in enumerate(keys)} for q, query in enumerate(queries)}`."""
    cdef Py_ssize_t n_keys = len(keys), n_queries = len(queries), m, q
    cdef dict found = {}, row
    if values.shape[0] != n_keys or values.shape[1] != n_queries:
        raise ValueError(f"expected values of shape ({n_keys}, {n_queries}), got another")
    for q in range(n_queries):
        row = {}
        for m in range(n_keys):
            row[keys[m]] = values[m, q]
        found[queries[q]] = row
    return found
