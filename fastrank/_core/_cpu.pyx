"""The CPU level that dispatched kernels run at, and the compiler that built them."""

import os

from fastrank._core._csrc cimport fr_cpu_best, fr_cpu_compiler

LEVELS = ("baseline", "x86-64-v3", "x86-64-v4")
COMPILER = fr_cpu_compiler().decode()


def supported_levels():
    """Names of the levels this build has and this processor can run, lowest first."""
    return LEVELS[:fr_cpu_best() + 1]


def _choose_level(wanted):
    """Turn the value of FASTRANK_CPU into a level number; unset, empty or "auto" takes the highest."""
    names = supported_levels()
    if wanted in (None, "", "auto"):
        return len(names) - 1
    if wanted not in names:
        raise ValueError(
            f"FASTRANK_CPU: expected auto or a level this machine can run ({', '.join(names)}), got {wanted!r}; "
            "unset it, or use FASTRANK_CPU=baseline"
        )
    return names.index(wanted)


LEVEL = _choose_level(os.environ.get("FASTRANK_CPU"))
