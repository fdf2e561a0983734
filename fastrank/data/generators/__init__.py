"""Generated ranking data with known properties. Equal arguments and an equal integer seed give equal rows."""

from fastrank.data.generators.gov_like import make_gov_like
from fastrank.data.generators.mslr_like import make_mslr_like
from fastrank.data.generators.separable import SeparableStream, make_separable
from fastrank.data.generators.two_gaussians import make_two_gaussians

__all__ = [
    "SeparableStream",
    "make_gov_like",
    "make_mslr_like",
    "make_separable",
    "make_two_gaussians",
]
