/* exp and log of our own: plain IEEE operations in a fixed order, so that every machine and every CPU level returns
 * the same bits (those of C libraries differ), and loops over them vectorise.
 */
#ifndef FR_MATH_H
#define FR_MATH_H

#include <string.h>

#include "fr_base.h"

/* The least argument of fr_exp: below it the result would no longer be a normal number. */
#define FR_EXP_LEAST (-708.0)

/* e^x for FR_EXP_LEAST <= x <= 0, within 2 ulp. Callers clamp, in a loop of its own: a choice in here would keep
 * compilers from vectorising.
 * With k the integer nearest to x / ln 2 and r = x - k ln 2: e^x = 2^k e^r, |r| <= 0.35, e^r by its series up to r^13. */
FR_INLINE double fr_exp(double x)
{
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer, kept in the low bits */
    const double shifted = x * 1.4426950408889634 + shifter;
    const double k = shifted - shifter;
    /* ln 2 in two parts; the first has 21 trailing zero bits, so that k times it is exact */
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    const double r2 = r * r, r4 = r2 * r2;
    const double p01 = 1.0 + r, p23 = 0.5 + r * (1.0 / 6.0);
    const double p45 = 1.0 / 24.0 + r * (1.0 / 120.0), p67 = 1.0 / 720.0 + r * (1.0 / 5040.0);
    const double p89 = 1.0 / 40320.0 + r * (1.0 / 362880.0), pab = 1.0 / 3628800.0 + r * (1.0 / 39916800.0);
    const double pcd = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
    const double tail = (p45 + r2 * p67) + r4 * ((p89 + r2 * pab) + r4 * pcd);
    const double series = p01 + (r2 * p23 + r4 * tail);
    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023u) << 52;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* ln x for normal x > 0, within 2 ulp. With x = 2^k f, f in [sqrt(1/2), sqrt 2), and s = (f - 1)/(f + 1):
 * ln f = 2 atanh s = 2 (s + s^3/3 + s^5/5 + ...), s^2 <= 0.0295. */
FR_INLINE double fr_log(double x)
{
    uint64_t bits;
    double f;
    memcpy(&bits, &x, sizeof bits);
    int64_t k = (int64_t)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000);
    memcpy(&f, &bits, sizeof f);
    if (f > 1.4142135623730951) {
        f *= 0.5;
        k++;
    }
    const double s = (f - 1.0) / (f + 1.0), s2 = s * s;
    double series = 0.0;
    for (int odd = 23; odd >= 3; odd -= 2)
        series = (series + 1.0 / odd) * s2;
    const double high = (double)k * 6.93147180369123816490e-01, low = (double)k * 1.90821492927058770002e-10;
    return high + (2.0 * s + (2.0 * s * series + low));
}

#endif
