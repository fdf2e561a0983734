"""The compiled kernels: typed, GIL-free, trusting. They import nothing of fastrank outside this package."""

try:
    from fastrank._core import _cpu  # noqa: F401  the smallest kernel module, to see whether there are any
except ImportError as error:
    raise ImportError(
        f"fastrank: expected compiled kernels in {__path__[0]}, got none ({error}); this looks like a source tree: "
        "leave its folder to use the installed package, or build in place with `pip install -e .`"
    ) from error
