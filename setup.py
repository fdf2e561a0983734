"""The extension table and the compiler flags; everything else is in pyproject.toml.

FASTRANK_DEBUG=1        bounds checks, no optimization, address and undefined-behaviour sanitizers
FASTRANK_LIMITED_API=1  one cp311-abi3 wheel for every later CPython
"""

import os
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("FASTRANK_DEBUG") == "1"
ABI3 = os.environ.get("FASTRANK_LIMITED_API") == "1" and not sysconfig.get_config_var("Py_GIL_DISABLED")
MSVC = os.name == "nt"

# module of fastrank._core -> units of csrc it calls
EXTENSIONS = {
    "_cpu": ["fr_cpu"],
    "_columns": ["fr_columns"],
    "_dicts": ["fr_sort"],
    "_group": ["fr_group"],
    "_letor": ["fr_letor", "fr_number"],
    "_loss": [],
    "_losses": ["fr_losses"],
    "_memory": [],
    "_metrics": ["fr_metrics", "fr_blocks", "fr_sort"],
    "_objective": [],
    "_online": [],
    "_plan": ["fr_plan"],
    "_rows": ["fr_rows"],
    "_trec": ["fr_trec", "fr_number"],
}
SHARED_UTILITIES = "fastrank._core._cyutility"

if MSVC:
    CFLAGS, LDFLAGS = ["/O2", "/fp:precise", "/std:c11"], []
elif DEBUG:
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    CFLAGS, LDFLAGS = ["-std=c11", "-O1", "-g", "-UNDEBUG", "-ffp-contract=off", *sanitize], sanitize
else:
    # Value-safe: the same bits on every node. -s strips, so that the wheel stays small.
    CFLAGS = ["-std=c11", "-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden"]
    LDFLAGS = ["-s"] if os.uname().sysname == "Linux" else []

CSRC_HEADERS = sorted(str(path) for path in Path("csrc").glob("*.h"))


def extension(name, units):
    return Extension(
        f"fastrank._core.{name}",
        [f"fastrank/_core/{name}.pyx", *(f"csrc/{unit}.c" for unit in units)],
        include_dirs=["csrc"],
        depends=CSRC_HEADERS,
        extra_compile_args=CFLAGS,
        extra_link_args=LDFLAGS,
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if ABI3 else [],
        py_limited_api=ABI3,
    )


extensions = [extension(name, units) for name, units in EXTENSIONS.items()]
# The memoryview machinery once for all modules instead of once in each.
shared = extension("_cyutility", [])
shared.sources = ["fastrank/_core/_cyutility.c"]

setup(
    ext_modules=cythonize(
        [*extensions, shared],
        nthreads=os.cpu_count() or 1,
        show_all_warnings=True,
        shared_utility_qualified_name=SHARED_UTILITIES,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "wraparound": False,
            "cdivision": True,
            "freethreading_compatible": True,
        },
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)
