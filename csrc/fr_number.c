#include "fr_number.h"

#include <math.h>
#include <string.h>

static const double POW10[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t POW10_INT[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

#define EXACT_INT (UINT64_C(1) << 53)

/* The leading digits (0 to 8) at p, as a value; *count tells how many. */
FR_INLINE uint64_t eight_digits(const char *p, int *count)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__GNUC__)
    uint64_t word;
    memcpy(&word, p, 8);
    word ^= UINT64_C(0x3030303030303030); /* a digit becomes its value, 0 to 9 */
    const uint64_t bad = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    const int n = bad ? __builtin_ctzll(bad) >> 3 : 8;
    *count = n;
    if (n == 0)
        return 0;
    word <<= 64 - 8 * n; /* zeros in front, so that there are always eight digits */
    word = word * 10 + (word >> 8);
    return (((word & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064))
            + (((word >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001))) >> 32;
#else
    uint64_t value = 0;
    int n = 0;
    while (n < 8 && (unsigned char)(p[n] - '0') < 10)
        value = value * 10 + (uint64_t)(p[n++] - '0');
    *count = n;
    return value;
#endif
}

FR_INLINE void multiply_64(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide_t;
    const wide_t product = (wide_t)a * b;
    *high = (uint64_t)(product >> 64);
    *low = (uint64_t)product;
#else
    const uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    const uint64_t middle = (p00 >> 32) + (p01 & 0xFFFFFFFFu) + (p10 & 0xFFFFFFFFu);
    *high = p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
    *low = (middle << 32) | (p00 & 0xFFFFFFFFu);
#endif
}

static int leading_zeros(uint64_t x)
{
#if defined(__GNUC__)
    return __builtin_clzll(x);
#else
    int n = 0;
    while (!(x >> 63)) {
        x <<= 1;
        n++;
    }
    return n;
#endif
}

/* Tier 2: mantissa * 10^exponent, mantissa > 0. The 192-bit product of the normalised mantissa (64 bits) and the
 * truncated power (128 bits) is low by less than 2^64, that is by less than one unit of its middle word; with the
 * carry we cannot see, the true upper 128 bits are the computed ones plus at most one. */
static int scale(uint64_t mantissa, int exponent, const uint64_t *pow5, double *value)
{
    if (exponent < FR_POW5_MIN || exponent > FR_POW5_MAX)
        return FR_NUMBER_HARD;
    const uint64_t *power = pow5 + 2 * (exponent - FR_POW5_MIN);
    const int shift = leading_zeros(mantissa);
    mantissa <<= shift;
    uint64_t top, middle, carry, ignored;
    multiply_64(mantissa, power[0], &top, &middle);
    multiply_64(mantissa, power[1], &carry, &ignored);
    middle += carry;
    top += middle < carry;

    const int normal = (int)(top >> 63); /* 1: the product has 192 bits, 0: 191 */
    const int dropped = 9 + normal;      /* bits of `top` below the 54 we keep: mantissa and rounding bit */
    uint64_t kept = top >> dropped;
    const uint64_t rest_top = top & ((UINT64_C(1) << dropped) - 1);
    const int all_ones = rest_top == (UINT64_C(1) << dropped) - 1 && middle >= UINT64_MAX - 1;
    const int all_zeros = rest_top == 0 && middle <= 1;
    if (all_ones || (all_zeros && (kept & 1)))
        return FR_NUMBER_HARD; /* too close to a boundary or to a tie */
    kept = (kept + 1) >> 1; /* a tie is excluded, so half up is right */

    /* floor(log2 5^e) = floor(e * log2 5); 152170/65536 is exact enough for |e| <= 350. The shift is arithmetic. */
    const int log5 = (int)(((int64_t)exponent * 152170) >> 16);
    /* 5^e = power * 2^(log5 - 127), mantissa as given = normalised * 2^-shift, product >> (128 + dropped + 1) kept */
    const int binary = log5 - 127 + exponent - shift + 128 + dropped + 1;
    *value = ldexp((double)kept, binary);
    return FR_NUMBER_OK;
}

/* More than 19 digits: skip leading zeros and count again. Returns 0 where more than 19 remain. */
static int many_digits(const char *p, const char *end, uint64_t *mantissa)
{
    uint64_t value = 0;
    int significant = 0;
    for (; p < end; p++) {
        if (*p == '.')
            continue;
        if (significant > 0 || *p != '0')
            significant++;
        if (significant > 19)
            return 0;
        value = value * 10 + (uint64_t)(*p - '0');
    }
    *mantissa = value;
    return 1;
}

static int same_word(const char *p, const char *word)
{
    for (; *word; p++, word++)
        if ((*p | 0x20) != *word) /* letters only, so this folds the case */
            return 0;
    return 1;
}

/* Words are compared inside the padded text; `p` is after the sign. */
static int parse_word(const char **text, const char *p)
{
    if (same_word(p, "null")) {
        *text = p + 4;
        return FR_NUMBER_MISSING;
    }
    if (same_word(p, "nan")) {
        *text = p + 3;
        return FR_NUMBER_MISSING;
    }
    if (same_word(p, "infinity")) {
        *text = p + 8;
        return FR_NUMBER_INFINITE;
    }
    if (same_word(p, "inf")) {
        *text = p + 3;
        return FR_NUMBER_INFINITE;
    }
    return FR_NUMBER_BAD;
}

int fr_number_parse(const char **text, const uint64_t *pow5, double *value)
{
    const char *p = *text;
    const int negative = *p == '-';
    p += negative || *p == '+';
    const char *const first = p;

    int n;
    uint64_t mantissa = eight_digits(p, &n);
    ptrdiff_t digits = n;
    p += n;
    while (FR_UNLIKELY(n == 8)) {
        const uint64_t more = eight_digits(p, &n);
        mantissa = mantissa * POW10_INT[n] + more;
        digits += n;
        p += n;
    }
    ptrdiff_t exponent = 0;
    if (*p == '.') {
        p++;
        do {
            const uint64_t more = eight_digits(p, &n);
            mantissa = mantissa * POW10_INT[n] + more;
            exponent -= n;
            p += n;
        } while (FR_UNLIKELY(n == 8));
        digits -= exponent;
    }
    if (FR_UNLIKELY(digits == 0))
        return parse_word(text, first);
    const int overflow = digits > 19 && !many_digits(first, p, &mantissa);

    if (FR_UNLIKELY((*p | 0x20) == 'e')) {
        const char *q = p + 1;
        const int down = *q == '-';
        q += down || *q == '+';
        ptrdiff_t power = 0;
        const char *const digits_from = q;
        for (; (unsigned char)(*q - '0') < 10; q++)
            if (power < 100000000) /* beyond what the decimals of any line that fits a buffer could make up for */
                power = power * 10 + (*q - '0');
        if (q == digits_from)
            return FR_NUMBER_BAD;
        exponent += down ? -power : power;
        p = q;
    }
    *text = p;
    if (FR_UNLIKELY(overflow))
        return FR_NUMBER_HARD;
    double result;
    if (mantissa <= EXACT_INT && exponent >= -22 && exponent <= 22) {
        result = exponent < 0 ? (double)mantissa / POW10[-exponent] : (double)mantissa * POW10[exponent];
    } else if (mantissa == 0) {
        result = 0.0;
    } else {
        if (exponent < FR_POW5_MIN || exponent > FR_POW5_MAX)
            return FR_NUMBER_HARD;
        const int status = scale(mantissa, (int)exponent, pow5, &result);
        if (status != FR_NUMBER_OK)
            return status;
    }
    *value = negative ? -result : result;
    return FR_NUMBER_OK;
}

/* Writes `scaled` with its last `decimals` digits behind the point. */
static int write_fixed(uint64_t scaled, int decimals, int negative, char *out)
{
    char reversed[32];
    int n = 0;
    for (int i = 0; i < decimals; i++) {
        reversed[n++] = (char)('0' + scaled % 10);
        scaled /= 10;
    }
    if (decimals > 0)
        reversed[n++] = '.';
    do {
        reversed[n++] = (char)('0' + scaled % 10);
        scaled /= 10;
    } while (scaled > 0);
    if (negative)
        reversed[n++] = '-';
    for (int i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

int fr_number_format(double value, int single, int decimals, char *out)
{
    const int negative = signbit(value) != 0;
    const double magnitude = fabs(value);
    const int first = decimals >= 0 ? decimals : 0;
    const int last = decimals >= 0 ? decimals : 15;
    for (int k = first; k <= last && k <= 15; k++) {
        const double scaled = rint(magnitude * POW10[k]);
        if (!(scaled < (double)EXACT_INT))
            return 0;
        if (decimals < 0) {
            const double back = scaled / POW10[k]; /* what tier 1 of the reader returns */
            if (single ? (float)back != (float)magnitude : back != magnitude)
                continue;
        }
        return write_fixed((uint64_t)scaled, k, negative, out);
    }
    return 0;
}
