/* Eight running sums side by side, the unit of every reduction: lane p mod 8 takes term p, one fixed tree adds them up. */
#ifndef FR_LANES_H
#define FR_LANES_H

#include "fr_base.h"

enum { FR_LANES = 8 };

/* Adds the 8 lanes of a sum, always in this order. */
FR_INLINE double fr_lanes_total(const double *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

#endif
