/* LETOR / SVMlight text: `grade qid:ID index:value index:value ... # comment`, one document a line.
 *
 * A text is parsed in blocks of whole lines. fr_letor_count tells how many rows a block has, so that blocks can be
 * parsed by different threads straight into their rows of one array. The parser is resumable: where it meets a number
 * it cannot round (FR_LETOR_HARD) the caller converts that one and calls again.
 */
#ifndef FR_LETOR_H
#define FR_LETOR_H

#include "fr_number.h"

enum {
    FR_LETOR_OK = 0,
    FR_LETOR_HARD,          /* a number for the caller: text[at, end) */
    FR_LETOR_WIDE,          /* an index beyond n_columns; max_index tells the largest of the block */
    FR_LETOR_BAD_GRADE,     /* the line does not start with a number */
    FR_LETOR_NEGATIVE_GRADE,
    FR_LETOR_INFINITE_GRADE, /* nan or inf */
    FR_LETOR_NO_QID,
    FR_LETOR_EMPTY_QID,
    FR_LETOR_LATE_QID,      /* a qid where none is expected: twice, behind a feature, or without with_qid */
    FR_LETOR_BAD_TOKEN,     /* not index:value */
    FR_LETOR_BAD_INDEX,     /* index below the base, over 2^31 - 2, or beyond fixed columns */
    FR_LETOR_UNORDERED,
    FR_LETOR_DUPLICATE,
    FR_LETOR_BAD_NUMBER,
    FR_LETOR_MISSING,       /* NULL or nan where missing values are not allowed */
    FR_LETOR_INFINITE,      /* inf, or beyond the largest float */
    FR_LETOR_NOT_UTF8       /* or a NUL byte */
};

enum { FR_LETOR_NO_COMMENTS = 0, FR_LETOR_DOCIDS, FR_LETOR_COMMENTS };

typedef struct {
    /* the block: `size` bytes of whole lines, FR_TEXT_PAD readable bytes behind; the last line ends with a newline or
     * is followed by one, so that no number runs over the end */
    const char *text;
    int64_t size;
    const uint64_t *pow5;
    /* choices */
    int32_t index_base;    /* 0 or 1 */
    int32_t with_qid;      /* every line has a qid; 0: no line has one */
    int32_t fixed_columns; /* an index beyond n_columns is a mistake */
    int32_t allow_missing; /* NULL and nan become `missing` */
    int32_t comments;      /* FR_LETOR_NO_COMMENTS, _DOCIDS: "docid = X" gives X, else the comment; _COMMENTS */
    double missing;
    int64_t n_columns;
    /* where to write */
    void *values;          /* dense: n_rows x n_columns; sparse: values; float or double */
    int32_t *columns;      /* sparse */
    int64_t *row_end;      /* sparse: entries up to and with this row; dense: NULL */
    double *grades;        /* one per row */
    int64_t *qid_row;      /* per run of equal qids: its first row, the line of that, and the text of the qid */
    int64_t *qid_line;
    int64_t *qid_at;
    int64_t *qid_size;
    char *comment_bytes;   /* at most `size` bytes */
    int64_t *comment_end;  /* one per row */
    /* progress */
    int64_t position;      /* next byte */
    int64_t line;          /* lines finished */
    int64_t row;           /* rows finished */
    int64_t n_runs;
    int64_t n_entries;
    int64_t n_comment_bytes;
    int64_t last_index;    /* of the row under way; -1: none yet */
    int64_t max_index;     /* largest feature index seen, -1: none */
    int32_t in_row;        /* of `row`: 0 nothing, 1 the grade, 2 the grade and the qid are done */
    int32_t is_wide;
    /* what was met, for FR_LETOR_HARD and errors */
    int64_t at;
    int64_t end;
} fr_letor_t;

/* Counts lines and rows (lines that are not blank and not only a comment). A last line without newline counts. */
void fr_letor_count(const char *text, int64_t size, int64_t *lines, int64_t *rows);

/* Parses until the end of the block or until something needs the caller; see the codes above. */
int fr_letor_parse_dense_f32(fr_letor_t *block);
int fr_letor_parse_dense_f64(fr_letor_t *block);
int fr_letor_parse_sparse_f32(fr_letor_t *block);
int fr_letor_parse_sparse_f64(fr_letor_t *block);

/* Stores the caller's value for the number of FR_LETOR_HARD and moves past it. A grade (in_row is 0) is not negative;
 * a feature is finite in the type of the values. */
void fr_letor_supply_dense_f32(fr_letor_t *block, double value);
void fr_letor_supply_dense_f64(fr_letor_t *block, double value);
void fr_letor_supply_sparse_f32(fr_letor_t *block, double value);
void fr_letor_supply_sparse_f64(fr_letor_t *block, double value);

#endif
