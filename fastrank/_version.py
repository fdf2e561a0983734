"""The version, as the installed metadata has it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("fastrank-ltr")
except PackageNotFoundError:  # a source tree that was built in place, not installed
    __version__ = "0+unknown"
