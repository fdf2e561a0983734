/* The row loop of the LETOR parser, once per value type and layout. Needs FR_REAL, FR_SPARSE and FR_SUFFIX. */
#if !defined(FR_REAL) || !defined(FR_SPARSE) || !defined(FR_SUFFIX)
#error "fr_letor.inc.h needs FR_REAL, FR_SPARSE and FR_SUFFIX"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)

/* A finite double may round to an infinite float. NaN, a missing value, passes. */
FR_INLINE int FR_NAME(is_too_large)(double value)
{
    return sizeof(FR_REAL) == sizeof(float) && fabs((double)(FR_REAL)value) > FLT_MAX;
}

FR_INLINE void FR_NAME(store)(fr_letor_t *block, int64_t column, double value)
{
    FR_REAL *values = block->values;
    const FR_REAL rounded = (FR_REAL)value;
#if FR_SPARSE
    if (rounded != 0) { /* NaN is stored: it is not equal to zero */
        values[block->n_entries] = rounded;
        block->columns[block->n_entries] = (int32_t)column;
        block->n_entries++;
    }
#else
    values[block->row * block->n_columns + column] = rounded;
#endif
}

void FR_NAME(fr_letor_supply)(fr_letor_t *block, double value)
{
    block->position = block->end;
    if (!block->in_row) {
        block->grades[block->row] = value;
        block->in_row = 1;
    } else if (!block->is_wide) {
        FR_NAME(store)(block, block->last_index - block->index_base, value);
    }
}

int FR_NAME(fr_letor_parse)(fr_letor_t *block)
{
    const char *const end = block->text + block->size;
    const char *p = block->text + block->position;
    int status;
    while (p < end) {
        if (!block->in_row) {
            p = skip_blanks(p, end);
            if (p == end || *p == '\n' || *p == '#') { /* blank, or only a comment */
                p = line_end(p, end) + 1;
                block->line++;
                continue;
            }
            if ((status = parse_grade(block, &p, end)) != FR_LETOR_OK)
                return status;
            block->in_row = 1;
        }
        if (block->in_row == 1) {
            if ((status = parse_qid(block, &p, end)) != FR_LETOR_OK)
                return status;
            block->in_row = 2;
            block->last_index = -1;
#if !FR_SPARSE
            if (block->n_columns > 0)
                memset((FR_REAL *)block->values + block->row * block->n_columns, 0,
                       (size_t)block->n_columns * sizeof(FR_REAL));
#endif
        }
        for (;;) {
            p = skip_blanks(p, end);
            if (p >= end || *p == '\n' || *p == '#')
                break;
            const char *const token = p;
            int64_t index = 0;
            while ((unsigned char)(*p - '0') < 10 && index <= MAX_INDEX)
                index = index * 10 + (*p++ - '0');
            if (FR_UNLIKELY(p == token || *p != ':' || p >= end))
                return index > MAX_INDEX ? bad_index(block, index, token, end) : bad_token(block, token, end);
            if (FR_UNLIKELY(index <= block->last_index || index < block->index_base || index > MAX_INDEX))
                return bad_index(block, index, token, end);
            p++;
            double value = 0.0;
            const char *const number = p;
            status = fr_number_parse(&p, block->pow5, &value);
            if (FR_UNLIKELY(p < end && !is_break(*p)))
                return bad_number(block, FR_NUMBER_BAD, token, end);
            if (FR_UNLIKELY(status != FR_NUMBER_OK)) {
                if (status == FR_NUMBER_MISSING && block->allow_missing)
                    value = block->missing;
                else if (status != FR_NUMBER_HARD)
                    return bad_number(block, status, token, end);
            }
            if (FR_UNLIKELY(FR_NAME(is_too_large)(value)))
                return bad_number(block, FR_NUMBER_INFINITE, token, end);
            block->last_index = index;
            if (FR_UNLIKELY(index - block->index_base >= block->n_columns)) {
                if (block->fixed_columns)
                    return fail(block, FR_LETOR_BAD_INDEX, token, token_end(token, end));
                block->is_wide = 1; /* read on, only to find the largest index and mistakes */
            }
            if (FR_UNLIKELY(status == FR_NUMBER_HARD))
                return fail(block, FR_LETOR_HARD, number, p);
            if (FR_UNLIKELY(block->is_wide))
                continue;
            FR_NAME(store)(block, index - block->index_base, value);
        }
        if (block->last_index > block->max_index)
            block->max_index = block->last_index;
        if ((status = finish_row(block, &p, end)) != FR_LETOR_OK)
            return status;
    }
    block->position = block->size;
    return block->is_wide ? FR_LETOR_WIDE : FR_LETOR_OK;
}

#undef FR_NAME
#undef FR_REAL
#undef FR_SPARSE
#undef FR_SUFFIX
