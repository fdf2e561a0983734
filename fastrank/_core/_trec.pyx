"""TREC judgements and runs: text to columns, and their join. Callers own every buffer and have checked its size."""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from fastrank._core._csrc cimport (
    FR_TREC_BAD_RELEVANCE,
    FR_TREC_BAD_SCORE,
    FR_TREC_CONTROL,
    FR_TREC_HARD,
    FR_TREC_LONG,
    FR_TREC_OK,
    FR_TREC_SHORT,
    FR_TREC_UNJUDGED,
    fr_trec_duplicate,
    fr_trec_gather,
    fr_trec_hash,
    fr_trec_ids_t,
    fr_trec_join,
    fr_trec_order_ties,
    fr_trec_parse,
    fr_trec_slots,
    fr_trec_t,
)
from fastrank._core._letor cimport pow5_table

# What a block may end with, by name; everything but "ok" is a mistake at text[at:end].
STATUS = {
    FR_TREC_OK: "ok",
    FR_TREC_SHORT: "short",
    FR_TREC_LONG: "long",
    FR_TREC_CONTROL: "control",
    FR_TREC_BAD_SCORE: "bad_score",
    FR_TREC_BAD_RELEVANCE: "bad_relevance",
}
UNJUDGED = FR_TREC_UNJUDGED
SLACK = 8


def parse_block(const unsigned char[::1] text not None, Py_ssize_t start, Py_ssize_t stop, bint is_run,
                double[::1] values not None, uint32_t[::1] hashes not None, int64_t[::1] id_end not None,
                unsigned char[::1] id_bytes not None, int64_t[::1] row_line, int64_t[::1] run_row not None,
                int32_t[::1] run_code not None, int64_t[:, ::1] qids not None, uint32_t[::1] qid_hash not None,
                int32_t[::1] slots not None):
    """Parse text[start:stop], whole lines followed by TEXT_PAD bytes, into columns of at least as many rows.

    id_bytes has room for the text and SLACK bytes; slots, a power of two and at least twice the rows, holds -1. qids
    (2 x rows) gets the place and the size of each distinct query id. Returns a tuple: status, lines and rows finished,
    the place in text of what was met (from, to), runs of equal query ids, distinct query ids, bytes of document ids,
    whether some are not ASCII, and the place of the last tag (from, to).
    """
    cdef fr_trec_t block
    cdef int status
    if stop <= start or values.shape[0] == 0:
        return FR_TREC_OK, 0, 0, start, start, 0, 0, 0, False, start, start
    memset(&block, 0, sizeof(block))
    block.text = <const char *>&text[start]
    block.size = stop - start
    block.pow5 = pow5_table()
    block.is_run = is_run
    block.values = &values[0]
    block.hashes = &hashes[0]
    block.id_end = &id_end[0]
    block.id_bytes = <char *>&id_bytes[0]
    block.row_line = NULL if row_line is None else &row_line[0]
    block.run_row = &run_row[0]
    block.run_code = &run_code[0]
    block.qid_at = &qids[0, 0]
    block.qid_size = &qids[1, 0]
    block.qid_hash = &qid_hash[0]
    block.slots = &slots[0]
    block.n_slots = slots.shape[0]
    while True:
        with nogil:
            status = fr_trec_parse(&block)
        if status != FR_TREC_HARD:
            break
        block.value = float(block.text[block.at:block.end])
        block.supplied = 1
    return (status, block.line, block.row, start + block.at, start + block.end, block.n_runs, block.n_qids,
            block.n_bytes, bool(block.not_ascii), start + block.tag_at, start + block.tag_end)


cdef fr_trec_ids_t _ids(const unsigned char[::1] data, const int64_t[::1] offsets, const uint32_t[::1] hashes,
                        const int64_t[::1] qptr) noexcept:
    cdef fr_trec_ids_t ids
    ids.bytes = <const char *>&data[0] if data.shape[0] > 0 else NULL
    ids.offsets = &offsets[0]
    ids.hashes = &hashes[0] if hashes.shape[0] > 0 else NULL
    ids.qptr = &qptr[0]
    return ids


def hash_into(const unsigned char[::1] data not None, const int64_t[::1] offsets not None,
              uint32_t[::1] hashes not None):
    """Hash the ids data[offsets[i]:offsets[i + 1]] as parse_block does."""
    if hashes.shape[0] > 0:
        with nogil:
            fr_trec_hash(<const char *>&data[0] if data.shape[0] > 0 else NULL, &offsets[0], hashes.shape[0],
                         &hashes[0])


def count_slots(const int64_t[::1] qptr not None, Py_ssize_t first, Py_ssize_t last):
    """Count the slots of a table for the longest of the queries first..last-1."""
    return fr_trec_slots(&qptr[0], first, last)


def find_duplicate(const unsigned char[::1] data not None, const int64_t[::1] offsets not None,
                   const uint32_t[::1] hashes not None, const int64_t[::1] qptr not None, Py_ssize_t first,
                   Py_ssize_t last, int32_t[::1] slots not None):
    """Return the rows of an id that one of the queries first..last-1 has twice: the earlier, the later; or (-1, -1)."""
    cdef fr_trec_ids_t ids = _ids(data, offsets, hashes, qptr)
    cdef int64_t earlier = -1, later
    with nogil:
        later = fr_trec_duplicate(&ids, first, last, &slots[0], &earlier)
    return earlier, later


def order_ties_into(const unsigned char[::1] data not None, const int64_t[::1] offsets not None,
                    const int64_t[::1] qptr not None, const double[::1] scores not None, Py_ssize_t first,
                    Py_ssize_t last, int32_t[::1] work not None, int32_t[::1] order not None):
    """Put positions of equal score, in an order by descending score, into descending order of their ids' bytes."""
    cdef fr_trec_ids_t ids
    if scores.shape[0] > 0:
        memset(&ids, 0, sizeof(ids))  # no hashes: the texts decide
        ids.bytes = <const char *>&data[0] if data.shape[0] > 0 else NULL
        ids.offsets = &offsets[0]
        ids.qptr = &qptr[0]
        with nogil:
            fr_trec_order_ties(&ids, &scores[0], first, last, &work[0], &order[0])


def join_into(const unsigned char[::1] judged_data not None, const int64_t[::1] judged_offsets not None,
              const uint32_t[::1] judged_hashes not None, const int64_t[::1] judged_qptr not None,
              const int32_t[::1] relevance not None, const unsigned char[::1] ranked_data not None,
              const int64_t[::1] ranked_offsets not None, const uint32_t[::1] ranked_hashes not None,
              const int64_t[::1] ranked_qptr not None, const int32_t[::1] order not None,
              const int64_t[::1] judged_query not None, const int64_t[::1] ranked_query not None, Py_ssize_t first,
              Py_ssize_t last, const int64_t[::1] list_ptr not None, const int64_t[::1] missing_ptr not None,
              int32_t[::1] slots not None, int32_t[::1] grades not None, int32_t[::1] missing not None):
    """Write the grades of ranked documents, and of judged ones not listed, for the result's queries first..last-1.

    UNJUDGED in grades is a document without judgement; in missing it is a place to leave out. slots suffice for each of
    the judged queries.
    """
    cdef fr_trec_ids_t judged = _ids(judged_data, judged_offsets, judged_hashes, judged_qptr)
    cdef fr_trec_ids_t ranked = _ids(ranked_data, ranked_offsets, ranked_hashes, ranked_qptr)
    if last > first:
        with nogil:
            fr_trec_join(&judged, &relevance[0] if relevance.shape[0] > 0 else NULL, &ranked,
                         &order[0] if order.shape[0] > 0 else NULL, &judged_query[0], &ranked_query[0], first, last,
                         &list_ptr[0], &missing_ptr[0], &slots[0], &grades[0] if grades.shape[0] > 0 else NULL,
                         &missing[0] if missing.shape[0] > 0 else NULL)


def gather_into(const unsigned char[::1] data not None, const int64_t[::1] offsets not None,
                const int64_t[::1] rows not None, int64_t[::1] new_offsets not None,
                unsigned char[::1] new_data not None):
    """Copy the ids of these rows end to end."""
    if rows.shape[0] > 0 and new_data.shape[0] > 0:
        with nogil:
            fr_trec_gather(<const char *>&data[0], &offsets[0], &rows[0], rows.shape[0], &new_offsets[0],
                           <char *>&new_data[0])
    else:
        new_offsets[:] = 0
