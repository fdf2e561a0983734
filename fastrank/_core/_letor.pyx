"""LETOR / SVMlight text to arrays and back. Callers own every buffer and have checked its size."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from fastrank._core._csrc cimport (
    FR_LETOR_BAD_GRADE,
    FR_LETOR_BAD_INDEX,
    FR_LETOR_BAD_NUMBER,
    FR_LETOR_BAD_TOKEN,
    FR_LETOR_COMMENTS,
    FR_LETOR_DOCIDS,
    FR_LETOR_DUPLICATE,
    FR_LETOR_EMPTY_QID,
    FR_LETOR_HARD,
    FR_LETOR_INFINITE,
    FR_LETOR_INFINITE_GRADE,
    FR_LETOR_LATE_QID,
    FR_LETOR_MISSING,
    FR_LETOR_NEGATIVE_GRADE,
    FR_LETOR_NO_COMMENTS,
    FR_LETOR_NO_QID,
    FR_LETOR_NOT_UTF8,
    FR_LETOR_OK,
    FR_LETOR_UNORDERED,
    FR_LETOR_WIDE,
    FR_NUMBER_HARD,
    FR_NUMBER_OK,
    FR_POW5_MAX,
    FR_POW5_MIN,
    FR_POW5_WORDS,
    FR_TEXT_PAD,
    fr_letor_count,
    fr_letor_parse_dense_f32,
    fr_letor_parse_dense_f64,
    fr_letor_parse_sparse_f32,
    fr_letor_parse_sparse_f64,
    fr_letor_supply_dense_f32,
    fr_letor_supply_dense_f64,
    fr_letor_supply_sparse_f32,
    fr_letor_supply_sparse_f64,
    fr_letor_t,
    fr_number_format,
    fr_number_parse,
    real_t,
)

# What a block may end with, by name; everything but "ok" and "wide" is an error at text[at:end].
STATUS = {
    FR_LETOR_OK: "ok",
    FR_LETOR_WIDE: "wide",
    FR_LETOR_BAD_GRADE: "bad_grade",
    FR_LETOR_NEGATIVE_GRADE: "negative_grade",
    FR_LETOR_INFINITE_GRADE: "infinite_grade",
    FR_LETOR_NO_QID: "no_qid",
    FR_LETOR_EMPTY_QID: "empty_qid",
    FR_LETOR_LATE_QID: "late_qid",
    FR_LETOR_BAD_TOKEN: "bad_token",
    FR_LETOR_BAD_INDEX: "bad_index",
    FR_LETOR_UNORDERED: "unordered",
    FR_LETOR_DUPLICATE: "duplicate",
    FR_LETOR_BAD_NUMBER: "bad_number",
    FR_LETOR_MISSING: "missing",
    FR_LETOR_INFINITE: "infinite",
    FR_LETOR_NOT_UTF8: "not_utf8",
}
COMMENTS = {None: FR_LETOR_NO_COMMENTS, "docid": FR_LETOR_DOCIDS, "all": FR_LETOR_COMMENTS}
TEXT_PAD = FR_TEXT_PAD
LONGEST_NUMBER = 40

# The truncated 128-bit powers of five of fr_number.h, made with exact integers.
cdef uint64_t[FR_POW5_WORDS] POW5


cdef _fill_pow5():
    cdef object exponent, power  # Python integers: the powers must be exact
    for exponent in range(FR_POW5_MIN, FR_POW5_MAX + 1):
        power = 5 ** abs(exponent)
        if exponent < 0:
            # 128 bits of 1 / power: the quotient of 2^(bits + 127) has 128 bits, as power is not a power of two
            power = (1 << (power.bit_length() + 127)) // power
        bits = power.bit_length()
        power = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
        POW5[2 * (exponent - FR_POW5_MIN)] = power >> 64
        POW5[2 * (exponent - FR_POW5_MIN) + 1] = power & 0xFFFFFFFFFFFFFFFF


_fill_pow5()


cdef const uint64_t *pow5_table() noexcept nogil:
    """The table, for other modules that parse numbers."""
    return POW5


def parse_number(bytes text not None):
    """Parse one decimal number as the block parser does: a float, or None where it leaves the number to Python."""
    cdef bytes padded = text + b"\n" * FR_TEXT_PAD
    cdef const char *start = padded
    cdef const char *end = start
    cdef double value = 0.0
    cdef int status = fr_number_parse(&end, POW5, &value)
    if status == FR_NUMBER_HARD:
        return None
    if status != FR_NUMBER_OK or end - start != len(text):
        raise ValueError(f"expected a finite decimal number, got {text!r}")
    return value


def count_rows(const unsigned char[::1] text not None, Py_ssize_t start, Py_ssize_t stop):
    """Count the lines and the rows of text[start:stop]."""
    cdef int64_t lines = 0, rows = 0
    if stop > start:
        with nogil:
            fr_letor_count(<const char *>&text[start], stop - start, &lines, &rows)
    return lines, rows


def parse_block(const unsigned char[::1] text not None, Py_ssize_t start, Py_ssize_t stop,
                real_t[::1] values not None, int32_t[::1] columns, int64_t[::1] row_end, double[::1] grades not None,
                int64_t[:, ::1] runs not None, unsigned char[::1] comment_bytes not None,
                int64_t[::1] comment_end not None, Py_ssize_t n_columns, bint fixed_columns, int index_base,
                bint with_qid, bint allow_missing, double missing, int comments):
    """Parse text[start:stop], whole lines followed by a newline or TEXT_PAD bytes that start with one.

    Dense where columns is None: values holds n_rows x n_columns. runs (4 x n_rows) gets the first row, its line, and
    the place and size of the text of each run of equal qids. Returns a tuple: status, lines finished, the place
    in text of what was met (from, to), runs of equal qids, entries, comment bytes, largest index.
    """
    cdef fr_letor_t block
    cdef int status
    cdef double hard
    cdef bint sparse = columns is not None
    if stop <= start:
        return FR_LETOR_OK, 0, start, start, 0, 0, 0, -1
    memset(&block, 0, sizeof(block))
    block.text = <const char *>&text[start]
    block.size = stop - start
    block.pow5 = POW5
    block.index_base = index_base
    block.with_qid = with_qid
    block.fixed_columns = fixed_columns
    block.allow_missing = allow_missing
    block.missing = missing
    block.comments = comments
    block.n_columns = n_columns
    block.max_index = -1
    if values.shape[0] > 0:
        block.values = &values[0]
    if sparse and columns.shape[0] > 0:
        block.columns = &columns[0]
    if sparse and row_end.shape[0] > 0:
        block.row_end = &row_end[0]
    if grades.shape[0] > 0:
        block.grades = &grades[0]
        block.qid_row = &runs[0, 0]
        block.qid_line = &runs[1, 0]
        block.qid_at = &runs[2, 0]
        block.qid_size = &runs[3, 0]
    if comments != FR_LETOR_NO_COMMENTS and comment_end.shape[0] > 0:
        block.comment_bytes = <char *>&comment_bytes[0]
        block.comment_end = &comment_end[0]
    while True:
        with nogil:
            if sparse:
                if real_t is float:
                    status = fr_letor_parse_sparse_f32(&block)
                else:
                    status = fr_letor_parse_sparse_f64(&block)
            else:
                if real_t is float:
                    status = fr_letor_parse_dense_f32(&block)
                else:
                    status = fr_letor_parse_dense_f64(&block)
        if status != FR_LETOR_HARD:
            break
        hard = float(block.text[block.at:block.end])
        if block.in_row == 0:
            if hard - hard != 0.0:  # overflowed to infinity
                status = FR_LETOR_INFINITE_GRADE
                break
            if hard < 0.0:
                status = FR_LETOR_NEGATIVE_GRADE
                break
        elif <real_t>hard - <real_t>hard != 0.0:
            status = FR_LETOR_INFINITE
            break
        if sparse:
            if real_t is float:
                fr_letor_supply_sparse_f32(&block, hard)
            else:
                fr_letor_supply_sparse_f64(&block, hard)
        else:
            if real_t is float:
                fr_letor_supply_dense_f32(&block, hard)
            else:
                fr_letor_supply_dense_f64(&block, hard)
    return (status, block.line, start + block.at, start + block.end, block.n_runs, block.n_entries,
            block.n_comment_bytes, block.max_index)


def format_row_into(const real_t[::1] values not None, columns, int index_base, int decimals,
                    unsigned char[::1] out not None):
    """Write ` index:value` for each value into out; columns None means 0, 1, 2, ... Returns the bytes written.

    decimals < 0 writes what reads back as the same value; so are numbers too large for fixed decimals. out has room for
    2 + 20 + LONGEST_NUMBER bytes per value.
    """
    cdef const int32_t[::1] column_of = columns
    cdef Py_ssize_t i, size = 0
    cdef int n
    cdef int64_t index
    cdef bint single = real_t is float
    cdef char *start = <char *>&out[0] if out.shape[0] > 0 else NULL
    cdef char[24] digits
    cdef bytes slow
    for i in range(values.shape[0]):
        index = index_base + (i if column_of is None else column_of[i])
        start[size] = 32  # space
        size += 1
        n = 24
        while True:
            n -= 1
            digits[n] = <char>(48 + index % 10)
            index //= 10
            if index == 0:
                break
        memcpy(start + size, &digits[n], 24 - n)
        size += 24 - n
        start[size] = 58  # colon
        size += 1
        n = fr_number_format(values[i], single, decimals, start + size)
        if n == 0:
            slow = repr(<double>values[i]).encode()
            n = len(slow)
            memcpy(start + size, <const char *>slow, n)
        size += n
    return size
