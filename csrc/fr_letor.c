#include "fr_letor.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_INDEX = INT32_MAX - 1 };

FR_INLINE int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* What may follow a token. */
FR_INLINE int is_break(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#'; }

FR_INLINE const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

static const char *line_end(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

static const char *token_end(const char *p, const char *end)
{
    while (p < end && !is_break(*p))
        p++;
    return p;
}

void fr_letor_count(const char *text, int64_t size, int64_t *lines, int64_t *rows)
{
    const char *p = text, *const end = text + size;
    int64_t n_lines = 0, n_rows = 0;
    while (p < end) {
        const char *first = skip_blanks(p, end);
        n_rows += first < end && *first != '\n' && *first != '#';
        n_lines++;
        p = line_end(first, end) + 1;
    }
    *lines = n_lines;
    *rows = n_rows;
}

/* UTF-8 without NUL, which array strings cannot hold. RFC 3629: no overlong forms, no surrogates, nothing past
 * U+10FFFF. */
static int is_text(const char *text, const char *end)
{
    const unsigned char *p = (const unsigned char *)text, *const stop = (const unsigned char *)end;
    while (p < stop) {
        const unsigned lead = *p++;
        if (lead - 1 < 0x7F)
            continue;
        const int tail = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4 || stop - p < tail)
            return 0;
        if ((lead == 0xE0 && p[0] < 0xA0) || (lead == 0xED && p[0] > 0x9F) || (lead == 0xF0 && p[0] < 0x90)
            || (lead == 0xF4 && p[0] > 0x8F))
            return 0;
        for (int i = 0; i < tail; i++)
            if ((*p++ & 0xC0) != 0x80)
                return 0;
    }
    return 1;
}

static int fail(fr_letor_t *block, int status, const char *at, const char *end)
{
    block->at = at - block->text;
    block->end = end - block->text;
    return status;
}

/* The part of the comment [p, end) to keep. */
static void trim_comment(int how, const char **from, const char **to)
{
    const char *p = *from, *end = *to;
    p = skip_blanks(p, end);
    while (end > p && is_blank(end[-1]))
        end--;
    if (how == FR_LETOR_DOCIDS && end - p > 5 && memcmp(p, "docid", 5) == 0) {
        const char *q = skip_blanks(p + 5, end);
        if (q < end && *q == '=') {
            p = skip_blanks(q + 1, end);
            const char *stop = p;
            while (stop < end && !is_blank(*stop))
                stop++;
            end = stop;
        }
    }
    *from = p;
    *to = end;
}

/* The grade of a new row; *text is moved behind it. */
static int parse_grade(fr_letor_t *block, const char **text, const char *end)
{
    const char *const at = *text;
    double grade = 0.0;
    const int status = fr_number_parse(text, block->pow5, &grade);
    if (status == FR_NUMBER_BAD || (*text < end && !is_break(**text)))
        return fail(block, FR_LETOR_BAD_GRADE, at, token_end(at, end));
    if (status == FR_NUMBER_HARD)
        return fail(block, FR_LETOR_HARD, at, *text);
    if (status != FR_NUMBER_OK)
        return fail(block, FR_LETOR_INFINITE_GRADE, at, *text);
    if (grade < 0.0)
        return fail(block, FR_LETOR_NEGATIVE_GRADE, at, *text);
    block->grades[block->row] = grade;
    return FR_LETOR_OK;
}

/* The qid of a new row; *text is moved to the first feature. */
static int parse_qid(fr_letor_t *block, const char **text, const char *end)
{
    const char *p = skip_blanks(*text, end);
    if (block->with_qid) {
        if (end - p < 4 || memcmp(p, "qid:", 4) != 0)
            return fail(block, FR_LETOR_NO_QID, p, token_end(p, end));
        const char *const qid = p + 4;
        const char *const qid_end = token_end(qid, end);
        if (qid == qid_end)
            return fail(block, FR_LETOR_EMPTY_QID, p, qid_end);
        const int64_t size = qid_end - qid, run = block->n_runs - 1;
        if (run < 0 || block->qid_size[run] != size
            || memcmp(block->text + block->qid_at[run], qid, (size_t)size) != 0) {
            if (!is_text(qid, qid_end))
                return fail(block, FR_LETOR_NOT_UTF8, qid, qid_end);
            block->qid_row[run + 1] = block->row;
            block->qid_line[run + 1] = block->line;
            block->qid_at[run + 1] = qid - block->text;
            block->qid_size[run + 1] = size;
            block->n_runs++;
        }
        p = skip_blanks(qid_end, end);
    }
    *text = p;
    return FR_LETOR_OK;
}

/* A token that is not index:value: say which mistake it is. */
static int bad_token(fr_letor_t *block, const char *token, const char *end)
{
    const char *stop = token_end(token, end);
    if (stop - token >= 4 && memcmp(token, "qid:", 4) == 0)
        return fail(block, FR_LETOR_LATE_QID, token, stop);
    return fail(block, FR_LETOR_BAD_TOKEN, token, stop);
}

static int bad_index(fr_letor_t *block, int64_t index, const char *token, const char *end)
{
    const char *stop = token_end(token, end);
    if (index < block->index_base || index > MAX_INDEX || index > block->last_index)
        return fail(block, FR_LETOR_BAD_INDEX, token, stop);
    return fail(block, index == block->last_index ? FR_LETOR_DUPLICATE : FR_LETOR_UNORDERED, token, stop);
}

static int bad_number(fr_letor_t *block, int status, const char *token, const char *end)
{
    const char *stop = token_end(token, end);
    if (status == FR_NUMBER_MISSING)
        return fail(block, FR_LETOR_MISSING, token, stop);
    if (status == FR_NUMBER_INFINITE)
        return fail(block, FR_LETOR_INFINITE, token, stop);
    return fail(block, FR_LETOR_BAD_NUMBER, token, stop);
}

/* The end of a row: its comment, if it is kept. p is at '#', at the newline or at the end of the block. */
static int finish_row(fr_letor_t *block, const char **text, const char *end)
{
    const char *p = *text;
    const char *const stop = p < end && *p == '#' ? line_end(p, end) : p;
    if (block->comments != FR_LETOR_NO_COMMENTS) {
        if (stop > p) {
            const char *from = p + 1, *to = stop;
            trim_comment(block->comments, &from, &to);
            if (!is_text(from, to))
                return fail(block, FR_LETOR_NOT_UTF8, from, to);
            memcpy(block->comment_bytes + block->n_comment_bytes, from, (size_t)(to - from));
            block->n_comment_bytes += to - from;
        }
        block->comment_end[block->row] = block->n_comment_bytes;
    }
    if (block->row_end)
        block->row_end[block->row] = block->n_entries;
    block->row++;
    block->line++;
    block->in_row = 0;
    *text = stop + 1;
    return FR_LETOR_OK;
}

#define FR_REAL float
#define FR_SPARSE 0
#define FR_SUFFIX dense_f32
#include "fr_letor.inc.h"

#define FR_REAL double
#define FR_SPARSE 0
#define FR_SUFFIX dense_f64
#include "fr_letor.inc.h"

#define FR_REAL float
#define FR_SPARSE 1
#define FR_SUFFIX sparse_f32
#include "fr_letor.inc.h"

#define FR_REAL double
#define FR_SPARSE 1
#define FR_SUFFIX sparse_f64
#include "fr_letor.inc.h"
