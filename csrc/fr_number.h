/* Decimal text <-> double, exact and independent of the locale.
 *
 * Reading is correctly rounded to double. Three tiers, each used only where it is provably exact:
 *   1. mantissa <= 2^53 and |exponent| <= 22: one exact conversion and one IEEE operation (Clinger 1990);
 *   2. up to 19 significant digits: a 64 x 128 bit product with a truncated power of five, which decides the rounding
 *      unless the discarded bits are within two units of a boundary;
 *   3. the rest (vanishingly rare) is left to the caller: FR_NUMBER_HARD.
 */
#ifndef FR_NUMBER_H
#define FR_NUMBER_H

#include "fr_base.h"

enum {
    FR_NUMBER_OK = 0,
    FR_NUMBER_HARD,      /* well formed, but this unit cannot round it: use a slow exact converter */
    FR_NUMBER_BAD,       /* not a number */
    FR_NUMBER_MISSING,   /* NULL or nan in any case */
    FR_NUMBER_INFINITE   /* inf or infinity in any case, with a sign or without */
};

/* Powers of five for tier 2: entry 2 (e - FR_POW5_MIN) holds the upper, the next the lower 64 bits of the 128-bit
 * normalised (top bit set), truncated mantissa of 5^e. The caller makes the table with exact integers. */
enum { FR_POW5_MIN = -290, FR_POW5_MAX = 270, FR_POW5_WORDS = 2 * (FR_POW5_MAX - FR_POW5_MIN + 1) };

/* Bytes that must be readable after the end of a text (their values do not matter). */
enum { FR_TEXT_PAD = 16 };

/* Parses the number at *text.
 *   text  - in: first byte; out: the byte after the number (on FR_NUMBER_BAD: unchanged)
 *   pow5  - the table above
 *   value - out: the number, for FR_NUMBER_OK
 * Returns a status. The caller checks what follows the number. */
int fr_number_parse(const char **text, const uint64_t *pow5, double *value);

/* Writes the shortest fixed-point decimal with at most 15 decimals that fr_number_parse reads back as `value` (after
 * rounding to float where single != 0); with decimals >= 0 exactly that many decimals instead, correctly rounded
 * up to the rounding of value * 10^decimals.
 * Returns the number of bytes written (at most 40), or 0 where there is no such text: use a slow exact formatter. */
int fr_number_format(double value, int single, int decimals, char *out);

#endif
