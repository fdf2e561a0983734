/* Losses that spend their time in exp, for one CPU level. Needs FR_TARGET with FR_SUFFIX. */
#if !defined(FR_SUFFIX) || !defined(FR_TARGET)
#error "fr_losses.inc.h needs FR_SUFFIX and FR_TARGET"
#endif
#define FR_NAME(name) FR_PASTE(name, FR_SUFFIX)

/* out_i = e^(values_i - top), or e^-708 where that is less; top is the largest value. Returns the sum, writes top. */
FR_TARGET static double FR_NAME(exp_below)(const double *values, ptrdiff_t n, double *out, double *top)
{
    const ptrdiff_t whole = n - n % FR_LANES;
    double lanes[FR_LANES];
    for (int lane = 0; lane < FR_LANES; lane++)
        lanes[lane] = values[0];
    for (ptrdiff_t i = 0; i < whole; i += FR_LANES)
        for (int lane = 0; lane < FR_LANES; lane++)
            lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    double largest = lanes[0];
    for (int lane = 1; lane < FR_LANES; lane++)
        largest = lanes[lane] > largest ? lanes[lane] : largest;
    for (ptrdiff_t i = whole; i < n; i++)
        largest = values[i] > largest ? values[i] : largest;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double below = values[i] - largest;
        out[i] = below > FR_EXP_LEAST ? below : FR_EXP_LEAST;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = fr_exp(out[i]);
    *top = largest;
    double sums[FR_LANES] = {0.0};
    for (ptrdiff_t i = 0; i < whole; i += FR_LANES)
        for (int lane = 0; lane < FR_LANES; lane++)
            sums[lane] += out[i + lane];
    for (ptrdiff_t i = whole; i < n; i++)
        sums[i - whole] += out[i];
    return fr_lanes_total(sums);
}

FR_TARGET static double FR_NAME(listnet)(const double *scores, ptrdiff_t n, const double *targets, double *gradient)
{
    if (n == 0)
        return 0.0;
    const ptrdiff_t whole = n - n % FR_LANES;
    double top;
    const double sum = FR_NAME(exp_below)(scores, n, gradient, &top);
    double masses[FR_LANES] = {0.0}, gaps[FR_LANES] = {0.0};
    for (ptrdiff_t i = 0; i < whole; i += FR_LANES)
        for (int lane = 0; lane < FR_LANES; lane++) {
            masses[lane] += targets[i + lane];
            gaps[lane] += targets[i + lane] * (top - scores[i + lane]);
        }
    for (ptrdiff_t i = whole; i < n; i++) {
        masses[i - whole] += targets[i];
        gaps[i - whole] += targets[i] * (top - scores[i]);
    }
    const double mass = fr_lanes_total(masses), scale = mass / sum;
    for (ptrdiff_t i = 0; i < n; i++)
        gradient[i] = gradient[i] * scale - targets[i];
    return mass * fr_log(sum) + fr_lanes_total(gaps);
}

FR_TARGET static void FR_NAME(softmax)(const double *values, ptrdiff_t n, double *out)
{
    if (n == 0)
        return;
    double top;
    const double sum = FR_NAME(exp_below)(values, n, out, &top);
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] /= sum;
}

static const fr_losses_t FR_NAME(table) = {FR_NAME(listnet), FR_NAME(softmax)};

#undef FR_NAME
#undef FR_SUFFIX
#undef FR_TARGET
