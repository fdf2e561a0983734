#include "fr_trec.h"

#include "fr_number.h"

#include <math.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__GNUC__)
#define FR_TREC_WORDS 1
#else
#define FR_TREC_WORDS 0
#endif

#define HASH_FACTOR UINT64_C(0x9E3779B97F4A7C15)

FR_INLINE int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

FR_INLINE int is_break(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/* Every line ends with a newline, which is no blank: no bound is needed. */
FR_INLINE const char *skip_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

/* One word of an id. The product carries bits upwards only, so its upper half is folded down. */
FR_INLINE uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ (hash >> 32);
}

FR_INLINE uint32_t finish(uint64_t hash, int64_t size)
{
    hash = mix(hash, (uint64_t)size);
    return (uint32_t)(hash ^ (hash >> 29));
}

/* The bytes p[0] to p[n - 1] as a word, the first one lowest, n <= 8. */
FR_INLINE uint64_t read_word(const char *p, int64_t n)
{
    uint64_t word = 0;
#if FR_TREC_WORDS
    memcpy(&word, p, (size_t)n);
#else
    for (int64_t i = 0; i < n; i++)
        word |= (uint64_t)(unsigned char)p[i] << (8 * i);
#endif
    return word;
}

static uint32_t hash_text(const char *p, int64_t size)
{
    uint64_t hash = 0;
    int64_t left = size;
    for (; left >= 8; p += 8, left -= 8)
        hash = mix(hash, read_word(p, 8));
    if (left > 0)
        hash = mix(hash, read_word(p, left));
    return finish(hash, size);
}

/* How many of the 8 bytes at p come before the first one up to a space (blanks, newlines, controls); *word gets these
 * bytes, the first one lowest. Reads 8 bytes. */
FR_INLINE int64_t next_word(const char *p, uint64_t *word)
{
#if FR_TREC_WORDS
    uint64_t bytes;
    memcpy(&bytes, p, 8);
    /* the lowest bit set marks the lowest byte below 0x21: borrows run upwards from such a byte only */
    const uint64_t low = (bytes - UINT64_C(0x2121212121212121)) & ~bytes & UINT64_C(0x8080808080808080);
    if (low == 0) {
        *word = bytes;
        return 8;
    }
    *word = bytes & (((low & (0 - low)) >> 7) - 1);
    return __builtin_ctzll(low) >> 3;
#else
    int64_t n = 0;
    uint64_t bytes = 0;
    while (n < 8 && (unsigned char)p[n] > 0x20) {
        bytes |= (uint64_t)(unsigned char)p[n] << (8 * n);
        n++;
    }
    *word = bytes;
    return n;
#endif
}

/* The first byte up to a space from p on. */
FR_INLINE const char *token_end(const char *p)
{
    uint64_t word;
    int64_t n;
    do {
        n = next_word(p, &word);
        p += n;
    } while (n == 8);
    return p;
}

static int fail(fr_trec_t *block, int status, const char *at, const char *end)
{
    block->at = at - block->text;
    block->end = end - block->text;
    return status;
}

static const char *line_end(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

/* The row starts a run of equal query ids: finds or adds the id. */
static void start_run(fr_trec_t *block, const char *qid, int64_t size)
{
    const uint32_t hash = hash_text(qid, size);
    const uint64_t mask = (uint64_t)block->n_slots - 1;
    uint64_t slot = hash & mask;
    int32_t code;
    while ((code = block->slots[slot]) >= 0) {
        if (block->qid_hash[code] == hash && block->qid_size[code] == size
            && memcmp(block->text + block->qid_at[code], qid, (size_t)size) == 0)
            break;
        slot = (slot + 1) & mask;
    }
    if (code < 0) {
        code = (int32_t)block->n_qids++;
        block->slots[slot] = code;
        block->qid_at[code] = qid - block->text;
        block->qid_size[code] = size;
        block->qid_hash[code] = hash;
    }
    block->run_row[block->n_runs] = block->row;
    block->run_code[block->n_runs] = code;
    block->n_runs++;
}

/* The query id at *text, which is moved behind it. Mostly it is that of the row before. */
FR_INLINE void parse_qid(fr_trec_t *block, const char **text)
{
    const char *const qid = *text;
    const char *const stop = token_end(qid);
    const int64_t size = stop - qid;
    const int32_t code = block->n_runs > 0 ? block->run_code[block->n_runs - 1] : -1;
    if (code < 0 || block->qid_size[code] != size
        || memcmp(block->text + block->qid_at[code], qid, (size_t)size) != 0)
        start_run(block, qid, size);
    *text = stop;
}

/* The document id at *text, which is moved behind it: copied, hashed and looked at in one go. */
FR_INLINE void parse_docno(fr_trec_t *block, const char **text, int64_t *size)
{
    const char *const docno = *text;
    const char *p = docno;
    char *out = block->id_bytes + block->n_bytes;
    uint64_t hash = 0, word, seen = 0;
    int64_t n;
    while ((n = next_word(p, &word)) == 8) {
        hash = mix(hash, word);
        seen |= word;
        memcpy(out, p, 8);
        out += 8;
        p += 8;
    }
    if (n > 0) {
        hash = mix(hash, word);
        seen |= word;
        memcpy(out, p, 8); /* what is too much is overwritten by the next id */
        p += n;
    }
    *size = p - docno;
    block->hashes[block->row] = finish(hash, *size);
    block->not_ascii |= (seen & UINT64_C(0x8080808080808080)) != 0;
    *text = p;
}

/* The score or the relevance at *text, which is moved behind it. */
FR_INLINE int parse_value(fr_trec_t *block, const char **text)
{
    const char *const at = *text;
    const int bad = block->is_run ? FR_TREC_BAD_SCORE : FR_TREC_BAD_RELEVANCE;
    double value = 0.0;
    const int status = fr_number_parse(text, block->pow5, &value);
    if (FR_UNLIKELY(status == FR_NUMBER_BAD || status == FR_NUMBER_MISSING || !is_break(**text)))
        return fail(block, bad, at, token_end(at));
    if (FR_UNLIKELY(status == FR_NUMBER_HARD)) {
        if (!block->supplied)
            return fail(block, FR_TREC_HARD, at, *text);
        value = block->value;
        block->supplied = 0;
    } else if (FR_UNLIKELY(status == FR_NUMBER_INFINITE)) {
        value = *at == '-' ? -HUGE_VAL : HUGE_VAL;
    }
    if (!block->is_run && !(fabs(value) < 2147483648.0 && floor(value) == value))
        return fail(block, bad, at, *text);
    block->values[block->row] = value;
    return FR_TREC_OK;
}

/* Moves *text over the blanks behind a column to the next one; 1 where there is none in the line. */
FR_INLINE int is_last(const char **text)
{
    *text = skip_blanks(*text);
    return **text == '\n';
}

/* The row at *text, which is moved to the next line. */
FR_INLINE int parse_row(fr_trec_t *block, const char **text, const char *end)
{
    const char *p = *text;
    const char *column = p;
    int64_t id_size = 0;
    int status;
    parse_qid(block, &p);
    if (FR_UNLIKELY(!is_break(*p)))
        return fail(block, FR_TREC_CONTROL, column, p + 1);
    if (is_last(&p))
        return fail(block, FR_TREC_SHORT, *text, p);
    column = p;
    p = token_end(p); /* Q0 or iter */
    if (FR_UNLIKELY(!is_break(*p)))
        return fail(block, FR_TREC_CONTROL, column, p + 1);
    if (is_last(&p))
        return fail(block, FR_TREC_SHORT, *text, p);
    column = p;
    parse_docno(block, &p, &id_size);
    if (FR_UNLIKELY(!is_break(*p)))
        return fail(block, FR_TREC_CONTROL, column, p + 1);
    if (is_last(&p))
        return fail(block, FR_TREC_SHORT, *text, p);
    if (block->is_run) {
        column = p;
        p = token_end(p); /* rank: the scores decide */
        if (FR_UNLIKELY(!is_break(*p)))
            return fail(block, FR_TREC_CONTROL, column, p + 1);
        if (is_last(&p))
            return fail(block, FR_TREC_SHORT, *text, p);
    }
    if (FR_UNLIKELY((status = parse_value(block, &p)) != FR_TREC_OK))
        return status;
    if (is_last(&p)) {
        if (block->is_run)
            return fail(block, FR_TREC_SHORT, *text, p);
    } else {
        column = p;
        p = token_end(p);
        if (!block->is_run)
            return fail(block, FR_TREC_LONG, column, p);
        if (FR_UNLIKELY(!is_break(*p)))
            return fail(block, FR_TREC_CONTROL, column, p + 1);
        block->tag_at = column - block->text;
        block->tag_end = p - block->text;
        if (!is_last(&p))
            p = line_end(p, end); /* what follows the tag is nobody's business */
    }
    block->n_bytes += id_size;
    block->id_end[block->row] = block->n_bytes;
    if (block->row_line)
        block->row_line[block->row] = block->line;
    block->row++;
    *text = p + 1;
    return FR_TREC_OK;
}

int fr_trec_parse(fr_trec_t *block)
{
    const char *const end = block->text + block->size;
    const char *p = block->text + block->position;
    while (p < end) {
        block->position = p - block->text;
        p = skip_blanks(p);
        if (*p == '\n' || *p == '#') { /* nothing, or a comment */
            p = line_end(p, end) + 1;
        } else {
            const int status = parse_row(block, &p, end);
            if (FR_UNLIKELY(status != FR_TREC_OK))
                return status;
        }
        block->line++;
    }
    block->position = block->size;
    return FR_TREC_OK;
}

void fr_trec_hash(const char *bytes, const int64_t *offsets, ptrdiff_t n, uint32_t *hashes)
{
    for (ptrdiff_t i = 0; i < n; i++)
        hashes[i] = hash_text(bytes + offsets[i], offsets[i + 1] - offsets[i]);
}

/* Slots of a table for n ids. At most a quarter gets used, so that most ids that are not in it meet an empty slot. */
static int64_t slots_for(int64_t n)
{
    int64_t slots = 2;
    while (slots < 4 * n)
        slots *= 2;
    return slots;
}

int64_t fr_trec_slots(const int64_t *qptr, ptrdiff_t first, ptrdiff_t last)
{
    int64_t longest = 0;
    for (ptrdiff_t q = first; q < last; q++)
        if (qptr[q + 1] - qptr[q] > longest)
            longest = qptr[q + 1] - qptr[q];
    return slots_for(longest);
}

FR_INLINE int same_id(const fr_trec_ids_t *a, int64_t i, const fr_trec_ids_t *b, int64_t j)
{
    const int64_t size = a->offsets[i + 1] - a->offsets[i];
    return b->offsets[j + 1] - b->offsets[j] == size
           && memcmp(a->bytes + a->offsets[i], b->bytes + b->offsets[j], (size_t)size) == 0;
}

int64_t fr_trec_duplicate(const fr_trec_ids_t *ids, ptrdiff_t first, ptrdiff_t last, int32_t *slots, int64_t *earlier)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int64_t from = ids->qptr[q], n = ids->qptr[q + 1] - from;
        const uint32_t *const hashes = ids->hashes + from;
        const int64_t n_slots = slots_for(n);
        const uint64_t mask = (uint64_t)n_slots - 1;
        memset(slots, 0xFF, (size_t)n_slots * sizeof(*slots));
        for (int64_t i = 0; i < n; i++) {
            uint64_t slot = hashes[i] & mask;
            int32_t other;
            while ((other = slots[slot]) >= 0) {
                if (hashes[other] == hashes[i] && same_id(ids, from + other, ids, from + i)) {
                    *earlier = from + other;
                    return from + i;
                }
                slot = (slot + 1) & mask;
            }
            slots[slot] = (int32_t)i;
        }
    }
    return -1;
}

/* 1 where the bytes of id i come before those of id j in descending order. */
static int goes_first(const fr_trec_ids_t *ids, int64_t i, int64_t j)
{
    const int64_t size_i = ids->offsets[i + 1] - ids->offsets[i], size_j = ids->offsets[j + 1] - ids->offsets[j];
    const int64_t shorter = size_i < size_j ? size_i : size_j;
    const int sign = memcmp(ids->bytes + ids->offsets[i], ids->bytes + ids->offsets[j], (size_t)shorter);
    return sign != 0 ? sign > 0 : size_i > size_j;
}

enum { INSERTED = 8 };

/* Sorts positions (inside the query that starts at row `from`) by descending id: insertion, then merges.
 *   work - n places */
static void sort_by_id(const fr_trec_ids_t *ids, int64_t from, int64_t n, int32_t *work, int32_t *positions)
{
    for (int64_t start = 0; start < n; start += INSERTED) {
        const int64_t stop = start + INSERTED < n ? start + INSERTED : n;
        for (int64_t i = start + 1; i < stop; i++) {
            const int32_t moved = positions[i];
            int64_t j = i;
            for (; j > start && goes_first(ids, from + moved, from + positions[j - 1]); j--)
                positions[j] = positions[j - 1];
            positions[j] = moved;
        }
    }
    for (int64_t width = INSERTED; width < n; width *= 2) {
        for (int64_t start = 0; start + width < n; start += 2 * width) {
            const int64_t middle = start + width, stop = middle + width < n ? middle + width : n;
            memcpy(work, positions + start, (size_t)width * sizeof(*work));
            int64_t left = 0, right = middle, to = start;
            while (left < width && right < stop)
                positions[to++] = goes_first(ids, from + positions[right], from + work[left]) ? positions[right++]
                                                                                             : work[left++];
            memcpy(positions + to, work + left, (size_t)(width - left) * sizeof(*work));
        }
    }
}

void fr_trec_order_ties(const fr_trec_ids_t *ids, const double *scores, ptrdiff_t first, ptrdiff_t last, int32_t *work,
                        int32_t *order)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int64_t from = ids->qptr[q], n = ids->qptr[q + 1] - from;
        const double *const score = scores + from;
        int32_t *const positions = order + from;
        int64_t start = 0;
        for (int64_t i = 1; i <= n; i++) {
            if (i < n && score[positions[i]] == score[positions[start]])
                continue;
            if (i - start > 1)
                sort_by_id(ids, from, i - start, work, positions + start);
            start = i;
        }
    }
}

void fr_trec_join(const fr_trec_ids_t *judged, const int32_t *relevance, const fr_trec_ids_t *ranked,
                  const int32_t *order, const int64_t *judged_query, const int64_t *ranked_query, ptrdiff_t first,
                  ptrdiff_t last, const int64_t *list_ptr, const int64_t *missing_ptr, int32_t *slots, int32_t *grades,
                  int32_t *missing)
{
    for (ptrdiff_t q = first; q < last; q++) {
        const int64_t judged_from = judged->qptr[judged_query[q]];
        const int64_t n_judged = judged->qptr[judged_query[q] + 1] - judged_from;
        const uint32_t *const hashes = judged->hashes + judged_from;
        int32_t *const left = missing + missing_ptr[q];
        for (int64_t i = 0; i < n_judged; i++)
            left[i] = relevance[judged_from + i] < 0 ? FR_TREC_UNJUDGED : relevance[judged_from + i];
        if (ranked_query[q] < 0)
            continue;

        const int64_t n_slots = slots_for(n_judged);
        const uint64_t mask = (uint64_t)n_slots - 1;
        memset(slots, 0xFF, (size_t)n_slots * sizeof(*slots));
        for (int64_t i = 0; i < n_judged; i++) {
            uint64_t slot = hashes[i] & mask;
            while (slots[slot] >= 0)
                slot = (slot + 1) & mask;
            slots[slot] = (int32_t)i;
        }

        const int64_t ranked_from = ranked->qptr[ranked_query[q]];
        const int64_t length = list_ptr[q + 1] - list_ptr[q];
        int32_t *const list = grades + list_ptr[q];
        for (int64_t rank = 0; rank < length; rank++) {
            const int64_t row = ranked_from + order[ranked_from + rank];
            const uint32_t hash = ranked->hashes[row];
            uint64_t slot = hash & mask;
            int32_t grade = FR_TREC_UNJUDGED, found;
            while ((found = slots[slot]) >= 0) {
                if (hashes[found] == hash && same_id(judged, judged_from + found, ranked, row)) {
                    grade = left[found];
                    left[found] = FR_TREC_UNJUDGED;
                    break;
                }
                slot = (slot + 1) & mask;
            }
            list[rank] = grade;
        }
    }
}

void fr_trec_gather(const char *bytes, const int64_t *offsets, const int64_t *rows, ptrdiff_t n, int64_t *new_offsets,
                    char *new_bytes)
{
    int64_t end = 0;
    new_offsets[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int64_t from = offsets[rows[i]], size = offsets[rows[i] + 1] - from;
        memcpy(new_bytes + end, bytes + from, (size_t)size);
        end += size;
        new_offsets[i + 1] = end;
    }
}
