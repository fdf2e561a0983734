/* The vectorised sort for one CPU level. Needs FR_VECTOR with FR_LANES keys, the operations on it that fr_sort.c
 * defines, FR_TARGET and FR_SUFFIX. */
#if !defined(FR_VECTOR) || !defined(FR_LANES) || !defined(FR_SPLIT) || !defined(FR_SUFFIX) || !defined(FR_TARGET)
#error "fr_sort.inc.h needs FR_VECTOR, FR_LANES and its operations, FR_SUFFIX and FR_TARGET"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)
#define FR_NETWORK static inline __attribute__((always_inline)) FR_TARGET

/* The most keys that the networks sort: as many vectors as there are registers. */
enum { FR_NAME(SMALL) = (FR_LANES == 8 ? 32 : 16) * FR_LANES };

/* Merge two ascending halves of `rows` vectors: after the first step, both halves are bitonic and all keys of the first
 * are at most those of the second; then halves of halves, down to single vectors and inside them. */
#define FR_MERGE_ROWS(v, rows)                                                \
    do {                                                                      \
        _Pragma("GCC unroll 16") for (int i_ = 0; i_ < (rows) / 2; i_++)      \
        {                                                                     \
            const FR_VECTOR a_ = (v)[i_], b_ = FR_REVERSE((v)[(rows)-1 - i_]); \
            (v)[i_] = FR_MIN(a_, b_);                                         \
            (v)[(rows)-1 - i_] = FR_MAX(a_, b_);                              \
        }                                                                     \
        _Pragma("GCC unroll 4") for (int half_ = (rows) / 4; half_ > 0; half_ /= 2) \
        {                                                                     \
            _Pragma("GCC unroll 16") for (int i_ = 0; i_ < (rows); i_++)      \
            {                                                                 \
                if ((i_ & half_) == 0) {                                      \
                    const FR_VECTOR a_ = (v)[i_], b_ = (v)[i_ + half_];       \
                    (v)[i_] = FR_MIN(a_, b_);                                 \
                    (v)[i_ + half_] = FR_MAX(a_, b_);                         \
                }                                                             \
            }                                                                 \
        }                                                                     \
        _Pragma("GCC unroll 16") for (int i_ = 0; i_ < (rows); i_++)          \
            FR_MERGE_VECTOR((v)[i_]);                                         \
    } while (0)

FR_NETWORK void FR_NAME(rows_2)(FR_VECTOR *v)
{
    FR_SORT_VECTOR(v[0]);
    FR_SORT_VECTOR(v[1]);
    FR_MERGE_ROWS(v, 2);
}

FR_NETWORK void FR_NAME(rows_4)(FR_VECTOR *v)
{
    FR_NAME(rows_2)(v);
    FR_NAME(rows_2)(v + 2);
    FR_MERGE_ROWS(v, 4);
}

#if FR_LANES == 8

/* Eight columns are sorted by the fewest exchanges known for 8 or 16 rows, without moving keys between lanes, then merged
 * two by two: keys stand in column-major order, and the mirror image of an ascending neighbour makes a bitonic one. */
#define FR_PAIR(v, i, j)                               \
    do {                                               \
        const FR_VECTOR a_ = (v)[i], b_ = (v)[j];      \
        (v)[i] = FR_MIN(a_, b_);                       \
        (v)[j] = FR_MAX(a_, b_);                       \
    } while (0)

FR_NETWORK void FR_NAME(columns_of_8)(FR_VECTOR *v)
{
    FR_PAIR(v, 0, 2); FR_PAIR(v, 1, 3); FR_PAIR(v, 4, 6); FR_PAIR(v, 5, 7); FR_PAIR(v, 0, 4); FR_PAIR(v, 1, 5);
    FR_PAIR(v, 2, 6); FR_PAIR(v, 3, 7); FR_PAIR(v, 0, 1); FR_PAIR(v, 2, 3); FR_PAIR(v, 4, 5); FR_PAIR(v, 6, 7);
    FR_PAIR(v, 2, 4); FR_PAIR(v, 3, 5); FR_PAIR(v, 1, 4); FR_PAIR(v, 3, 6); FR_PAIR(v, 1, 2); FR_PAIR(v, 3, 4);
    FR_PAIR(v, 5, 6);
}

FR_NETWORK void FR_NAME(columns_of_16)(FR_VECTOR *v)
{
    FR_PAIR(v, 0, 1); FR_PAIR(v, 2, 3); FR_PAIR(v, 4, 5); FR_PAIR(v, 6, 7); FR_PAIR(v, 8, 9); FR_PAIR(v, 10, 11);
    FR_PAIR(v, 12, 13); FR_PAIR(v, 14, 15); FR_PAIR(v, 0, 2); FR_PAIR(v, 1, 3); FR_PAIR(v, 4, 6); FR_PAIR(v, 5, 7);
    FR_PAIR(v, 8, 10); FR_PAIR(v, 9, 11); FR_PAIR(v, 12, 14); FR_PAIR(v, 13, 15); FR_PAIR(v, 0, 4); FR_PAIR(v, 1, 5);
    FR_PAIR(v, 2, 6); FR_PAIR(v, 3, 7); FR_PAIR(v, 8, 12); FR_PAIR(v, 9, 13); FR_PAIR(v, 10, 14); FR_PAIR(v, 11, 15);
    FR_PAIR(v, 0, 8); FR_PAIR(v, 1, 9); FR_PAIR(v, 2, 10); FR_PAIR(v, 3, 11); FR_PAIR(v, 4, 12); FR_PAIR(v, 5, 13);
    FR_PAIR(v, 6, 14); FR_PAIR(v, 7, 15); FR_PAIR(v, 5, 10); FR_PAIR(v, 6, 9); FR_PAIR(v, 3, 12); FR_PAIR(v, 13, 14);
    FR_PAIR(v, 4, 8); FR_PAIR(v, 7, 11); FR_PAIR(v, 1, 2); FR_PAIR(v, 1, 4); FR_PAIR(v, 7, 13); FR_PAIR(v, 2, 8);
    FR_PAIR(v, 11, 14); FR_PAIR(v, 2, 4); FR_PAIR(v, 5, 6); FR_PAIR(v, 9, 10); FR_PAIR(v, 11, 13); FR_PAIR(v, 3, 8);
    FR_PAIR(v, 7, 12); FR_PAIR(v, 6, 8); FR_PAIR(v, 10, 12); FR_PAIR(v, 3, 5); FR_PAIR(v, 7, 9); FR_PAIR(v, 3, 4);
    FR_PAIR(v, 5, 6); FR_PAIR(v, 7, 8); FR_PAIR(v, 9, 10); FR_PAIR(v, 11, 12); FR_PAIR(v, 6, 7); FR_PAIR(v, 8, 9);
}

FR_NETWORK void FR_NAME(columns_of_32)(FR_VECTOR *v)
{
    FR_NAME(columns_of_16)(v);
    FR_NAME(columns_of_16)(v + 16);
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) FR_PAIR(v, i, 31 - i);
    _Pragma("GCC unroll 4") for (int half = 8; half > 0; half /= 2)
        _Pragma("GCC unroll 32") for (int i = 0; i < 32; i++)
            if ((i & half) == 0)
                FR_PAIR(v, i, i + half);
}

/* Exchange each key with its mirror image, rows and lanes reversed, in groups of lanes; `larger`: their upper halves. */
#define FR_MIRROR_ROWS(v, rows, mirrored, larger)                                                                    \
    do {                                                                                                             \
        _Pragma("GCC unroll 16") for (int i_ = 0; i_ < (rows) / 2; i_++)                                             \
        {                                                                                                            \
            const FR_VECTOR a_ = (v)[i_], b_ = (v)[(rows)-1 - i_], ma_ = mirrored(a_), mb_ = mirrored(b_);           \
            (v)[i_] = _mm512_mask_max_epi64(_mm512_min_epi64(a_, mb_), larger, a_, mb_);                             \
            (v)[(rows)-1 - i_] = _mm512_mask_max_epi64(_mm512_min_epi64(b_, ma_), larger, b_, ma_);                  \
        }                                                                                                            \
    } while (0)
#define FR_MIRROR_LANES_2(v) _mm512_shuffle_epi32(v, (_MM_PERM_ENUM)0x4E)
#define FR_MIRROR_LANES_4(v) _mm512_permutex_epi64(v, 0x1B)
#define FR_STEP_ROWS(v, rows, step)                                        \
    _Pragma("GCC unroll 32") for (int i_ = 0; i_ < (rows); i_++) step((v)[i_])
#define FR_MERGE_COLUMNS(v, rows)                                                    \
    _Pragma("GCC unroll 5") for (int half_ = (rows) / 2; half_ > 0; half_ /= 2)      \
        _Pragma("GCC unroll 32") for (int j_ = 0; j_ < (rows); j_++)                 \
            if ((j_ & half_) == 0)                                                   \
                FR_PAIR(v, j_, j_ + half_)

#define FR_SORT_COLUMNS(v, rows, columns)           \
    do {                                            \
        columns(v);                                 \
        FR_MIRROR_ROWS(v, rows, FR_MIRROR_LANES_2, 0xAA); \
        FR_MERGE_COLUMNS(v, rows);                  \
        FR_MIRROR_ROWS(v, rows, FR_MIRROR_LANES_4, 0xCC); \
        FR_STEP_ROWS(v, rows, FR_STEP_1);           \
        FR_MERGE_COLUMNS(v, rows);                  \
        FR_MIRROR_ROWS(v, rows, FR_REVERSE, 0xF0);  \
        FR_STEP_ROWS(v, rows, FR_STEP_2);           \
        FR_STEP_ROWS(v, rows, FR_STEP_1);           \
        FR_MERGE_COLUMNS(v, rows);                  \
    } while (0)

/* Transpose 8 x 8 keys: column c becomes v[c]. */
FR_NETWORK void FR_NAME(transpose)(FR_VECTOR *v)
{
    FR_VECTOR pairs[8], fours[8];
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    {
        pairs[2 * i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
    }
    _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)
    {
        fours[i] = _mm512_shuffle_i64x2(pairs[i], pairs[i + 2], 0x88);
        fours[i + 2] = _mm512_shuffle_i64x2(pairs[i], pairs[i + 2], 0xDD);
        fours[i + 4] = _mm512_shuffle_i64x2(pairs[i + 4], pairs[i + 6], 0x88);
        fours[i + 6] = _mm512_shuffle_i64x2(pairs[i + 4], pairs[i + 6], 0xDD);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
    {
        v[i] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0x88);
        v[i + 4] = _mm512_shuffle_i64x2(fours[i], fours[i + 4], 0xDD);
    }
}

FR_NETWORK void FR_NAME(rows_8)(FR_VECTOR *v)
{
    FR_SORT_COLUMNS(v, 8, FR_NAME(columns_of_8));
    FR_NAME(transpose)(v);
}

/* Rows in memory order: the parts of a column, 8 rows each, follow one another. */
#define FR_ROWS_OF_COLUMNS(v, parts)                                                                 \
    do {                                                                                             \
        FR_VECTOR columns_[8 * (parts)];                                                             \
        _Pragma("GCC unroll 4") for (int i_ = 0; i_ < (parts); i_++) FR_NAME(transpose)((v) + 8 * i_); \
        _Pragma("GCC unroll 32") for (int i_ = 0; i_ < 8 * (parts); i_++)                            \
            columns_[i_ % 8 * (parts) + i_ / 8] = (v)[i_];                                           \
        _Pragma("GCC unroll 32") for (int i_ = 0; i_ < 8 * (parts); i_++) (v)[i_] = columns_[i_];    \
    } while (0)

FR_NETWORK void FR_NAME(rows_16)(FR_VECTOR *v)
{
    FR_SORT_COLUMNS(v, 16, FR_NAME(columns_of_16));
    FR_ROWS_OF_COLUMNS(v, 2);
}

FR_NETWORK void FR_NAME(rows_32)(FR_VECTOR *v)
{
    FR_SORT_COLUMNS(v, 32, FR_NAME(columns_of_32));
    FR_ROWS_OF_COLUMNS(v, 4);
}

#undef FR_ROWS_OF_COLUMNS
#undef FR_PAIR
#undef FR_MIRROR_ROWS
#undef FR_MIRROR_LANES_2
#undef FR_MIRROR_LANES_4
#undef FR_STEP_ROWS
#undef FR_MERGE_COLUMNS
#undef FR_SORT_COLUMNS

#else

FR_NETWORK void FR_NAME(rows_8)(FR_VECTOR *v)
{
    FR_NAME(rows_4)(v);
    FR_NAME(rows_4)(v + 4);
    FR_MERGE_ROWS(v, 8);
}

FR_NETWORK void FR_NAME(rows_16)(FR_VECTOR *v)
{
    FR_NAME(rows_8)(v);
    FR_NAME(rows_8)(v + 8);
    FR_MERGE_ROWS(v, 16);
}

#endif

/* Sort n <= rows * lanes keys, the last half of which may be missing, by the network for that many rows. */
#define FR_SORT_ROWS(keys, n, rows, network)                                                                  \
    do {                                                                                                      \
        FR_VECTOR v_[rows];                                                                                   \
        _Pragma("GCC unroll 32") for (int i_ = 0; i_ < (rows); i_++)                                          \
        {                                                                                                     \
            const ptrdiff_t left_ = (n)-i_ * FR_LANES;                                                        \
            v_[i_] = i_ < (rows) / 2 || left_ >= FR_LANES ? FR_LOAD((keys) + i_ * FR_LANES)                   \
                     : left_ > 0                          ? FR_LOAD_FIRST((keys) + i_ * FR_LANES, left_)      \
                                                          : FR_FILL(INT64_MAX);                               \
        }                                                                                                     \
        network(v_);                                                                                          \
        _Pragma("GCC unroll 32") for (int i_ = 0; i_ < (rows); i_++)                                          \
        {                                                                                                     \
            const ptrdiff_t left_ = (n)-i_ * FR_LANES;                                                        \
            if (i_ < (rows) / 2 || left_ >= FR_LANES)                                                         \
                FR_STORE((keys) + i_ * FR_LANES, v_[i_]);                                                     \
            else if (left_ > 0)                                                                               \
                FR_STORE_FIRST((keys) + i_ * FR_LANES, left_, v_[i_]);                                        \
        }                                                                                                     \
    } while (0)

FR_TARGET static void FR_NAME(sort_small)(int64_t *keys, ptrdiff_t n)
{
    if (n <= FR_LANES) {
        FR_VECTOR v = FR_LOAD_FIRST(keys, n);
        FR_SORT_VECTOR(v);
        FR_STORE_FIRST(keys, n, v);
    } else if (n <= 2 * FR_LANES) {
        FR_SORT_ROWS(keys, n, 2, FR_NAME(rows_2));
    } else if (n <= 4 * FR_LANES) {
        FR_SORT_ROWS(keys, n, 4, FR_NAME(rows_4));
    } else if (n <= 8 * FR_LANES) {
        FR_SORT_ROWS(keys, n, 8, FR_NAME(rows_8));
#if FR_LANES == 8
    } else if (n > 16 * FR_LANES) {
        FR_SORT_ROWS(keys, n, 32, FR_NAME(rows_32));
#endif
    } else {
        FR_SORT_ROWS(keys, n, 16, FR_NAME(rows_16));
    }
}

/* Keys below the pivot (not above it, where strict is 0) to the front; returns how many. */
FR_NETWORK ptrdiff_t FR_NAME(partition)(int64_t *keys, ptrdiff_t n, int64_t pivot, const int strict, int64_t *work)
{
    const FR_VECTOR pivots = FR_FILL(pivot);
    ptrdiff_t low = 0, high = 0, i = 0;
    /* A whole vector is written at keys + low, over keys that were read: low never passes i. */
    for (; i + 4 * FR_LANES <= n; i += 4 * FR_LANES) {
        FR_VECTOR v[4];
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) v[j] = FR_LOAD(keys + i + j * FR_LANES);
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)
        {
            ptrdiff_t n_low;
            FR_SPLIT(v[j], pivots, strict, keys + low, work + high, n_low);
            low += n_low;
            high += FR_LANES - n_low;
        }
    }
    for (; i < n; i++) {
        const int64_t key = keys[i];
        const ptrdiff_t is_low = strict ? key < pivot : key <= pivot;
        keys[low] = key;
        work[high] = key;
        low += is_low;
        high += 1 - is_low;
    }
    memcpy(keys + low, work, (size_t)high * sizeof *keys);
    return low;
}

/* The middle of some keys from all over the list: one vector of them, two where the list is long. */
FR_TARGET static int64_t FR_NAME(pivot)(const int64_t *keys, ptrdiff_t n)
{
    int64_t sample[2 * FR_LANES];
    const int rows = n < 1024 ? 1 : 2;
    const ptrdiff_t step = n / (rows * FR_LANES);
    for (int i = 0; i < rows * FR_LANES; i++)
        sample[i] = keys[i * step + step / 2];
    FR_VECTOR v[2] = {FR_LOAD(sample), FR_FILL(INT64_MAX)};
    if (rows == 1) {
        FR_SORT_VECTOR(v[0]);
    } else {
        v[1] = FR_LOAD(sample + FR_LANES);
        FR_NAME(rows_2)(v);
    }
    FR_STORE(sample, v[0]);
    FR_STORE(sample + FR_LANES, v[1]);
    return sample[rows * FR_LANES / 2];
}

FR_TARGET static void FR_NAME(quicksort)(int64_t *keys, ptrdiff_t n, ptrdiff_t depth, int64_t *work, int patience)
{
    while (n > FR_NAME(SMALL)) {
        if (patience-- == 0) {
            sort_base(keys, n, depth, work);
            return;
        }
        const int64_t pivot = FR_NAME(pivot)(keys, n);
        ptrdiff_t low = FR_NAME(partition)(keys, n, pivot, 1, work);
        if (low == 0) { /* the pivot is the least key: all that equal it are in place */
            low = FR_NAME(partition)(keys, n, pivot, 0, work);
        } else {
            FR_NAME(quicksort)(keys, low, depth < low ? depth : low, work, patience);
        }
        if (depth <= low)
            return;
        keys += low;
        n -= low;
        depth -= low;
    }
    FR_NAME(sort_small)(keys, n);
}

FR_TARGET static void FR_NAME(sort)(int64_t *keys, ptrdiff_t n, ptrdiff_t depth, int64_t *work)
{
    int patience = 8; /* twice the depth that good pivots need */
    for (ptrdiff_t size = n; size > 0; size /= 2)
        patience += 2;
    FR_NAME(quicksort)(keys, n, depth, work, patience);
}

static const fr_sort_t FR_NAME(table) = {FR_NAME(sort)};

#undef FR_NAME
#undef FR_NETWORK
#undef FR_MERGE_ROWS
#undef FR_SORT_ROWS
#undef FR_SUFFIX
#undef FR_TARGET
#undef FR_LANES
#undef FR_VECTOR
#undef FR_LOAD
#undef FR_STORE
#undef FR_LOAD_FIRST
#undef FR_STORE_FIRST
#undef FR_FILL
#undef FR_MIN
#undef FR_MAX
#undef FR_REVERSE
#undef FR_EXCHANGE
#undef FR_STEP_4
#undef FR_STEP_2
#undef FR_STEP_1
#undef FR_MIRROR_4
#undef FR_MIRROR_8
#undef FR_SORT_VECTOR
#undef FR_MERGE_VECTOR
#undef FR_SPLIT
