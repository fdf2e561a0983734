"""A loss of another Cython project: `SOURCE` is all that it takes. It is compiled here, and learned from."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import loss_cases as cases
import numpy as np
import pytest

import fastrank
from fastrank._core._loss import Loss
from fastrank.data import RankingDataset
from fastrank.losses import KernelLoss
from fastrank.objectives import LinearObjective

SOURCE = '''
from fastrank._core._loss cimport Loss, query_t


cdef class MeanMargin(Loss):
    """1/2 sum over neighbouring grades of max(0, margin + mean score of the lower - mean score of the higher)^2."""

    cdef double margin

    def __cinit__(self, double margin):
        self.margin = margin
        self.work_per_document = 1  # one mean per grade; there are at most as many as documents

    cdef double evaluate(self, const double *scores, const query_t *query, double *work,
                         double *gradient) noexcept nogil:
        cdef Py_ssize_t level, place, begin = 0
        cdef double gap, loss = 0.0
        for level in range(query.n_levels):  # from the highest grade down
            work[level] = 0.0
            for place in range(begin, query.level_end[level]):
                work[level] += scores[query.by_grade[place]]
                gradient[query.by_grade[place]] = 0.0
            work[level] /= query.level_end[level] - begin
            begin = query.level_end[level]
        for level in range(query.n_levels - 1):
            gap = max(0.0, self.margin + work[level + 1] - work[level])
            loss += gap * gap / 2
            spread(query, level, -gap, gradient)
            spread(query, level + 1, gap, gradient)
        return loss


cdef void spread(const query_t *query, Py_ssize_t level, double amount, double *gradient) noexcept nogil:
    """Add the slope of a mean to each document of its grade."""
    cdef Py_ssize_t place, begin = query.level_end[level - 1] if level > 0 else 0
    for place in range(begin, query.level_end[level]):
        gradient[query.by_grade[place]] += amount / (query.level_end[level] - begin)
'''

README = Path(__file__).parent.parent / "README.md"

SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup

setup(
    name="elsewhere",
    ext_modules=cythonize(
        [Extension("elsewhere", ["elsewhere.pyx"])],
        include_path=[{packages!r}],  # where fastrank is installed
        compiler_directives={{"language_level": 3, "cdivision": True}},
    ),
)
"""


def mean_margin(scores, grades, margin):
    """The same in NumPy, of one query."""
    levels = np.unique(grades)[::-1]
    value, gradient = 0.0, np.zeros(len(scores))
    for high, low in itertools.pairwise(levels):
        gap = max(0.0, margin + scores[grades == low].mean() - scores[grades == high].mean())
        value += gap**2 / 2
        gradient[grades == high] -= gap / (grades == high).sum()
        gradient[grades == low] += gap / (grades == low).sum()
    return value, gradient


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The compiled module of the other project."""
    for tool in ("Cython", "setuptools"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed, and a Cython project needs it to build")
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"no C compiler: {compiler} is not on the path")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        pytest.skip("no Python.h: the headers of Python are not installed")
    folder = tmp_path_factory.mktemp("elsewhere")
    (example,) = re.findall(r"^```cython\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    (folder / "elsewhere.pyx").write_text(SOURCE + example)
    (folder / "setup.py").write_text(SETUP.format(packages=str(Path(fastrank.__file__).parent.parent)))
    build = subprocess.run(
        [sys.executable, "-P", "setup.py", "build_ext", "--inplace"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    (compiled,) = folder.glob("elsewhere*.so")
    spec = importlib.util.spec_from_file_location("elsewhere", compiled)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_declarations_are_installed():
    source = Path(fastrank.__file__).parent / "_core" / "_loss.pxd"
    assert "cdef class Loss" in source.read_text()
    assert "cdef extern" not in source.read_text()  # no C header is needed


def test_objects_come_and_go(elsewhere):
    """Of a static type whose base is a heap type, in a wheel for many versions of Python: who counts references?"""

    class Derived(elsewhere.MeanMargin):
        pass

    for kind in (elsewhere.MeanMargin, Derived):
        before = sys.getrefcount(kind)
        kind(1.0)
        assert sys.getrefcount(kind) == before


@pytest.mark.parametrize("name", ["no lists", "one empty list", "one document", "scores: dyadic", "right order"])
def test_a_loss_of_another_project(elsewhere, name):
    case = cases.make(name)
    loss = elsewhere.MeanMargin(0.75)
    assert isinstance(loss, Loss)
    values, gradient = cases.evaluate(loss, case.plan, case.scores)
    found = [mean_margin(*one, 0.75) for one in zip(case.split(case.scores), case.split(case.grades), strict=True)]
    np.testing.assert_allclose(values, [value for value, _ in found], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(gradient, np.concatenate([[], *(one for _, one in found)]), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_learning_from_a_loss_of_another_project(elsewhere, n_jobs, rng):
    X, y, qid = rng.standard_normal((60, 4)), rng.integers(0, 3, 60), rng.integers(0, 7, 60)
    w = rng.standard_normal(4)
    loss = KernelLoss(elsewhere.MeanMargin(1.5))
    found = [(qid == query, *mean_margin((X @ w)[qid == query], y[qid == query], 1.5)) for query in dict.fromkeys(qid)]
    np.testing.assert_allclose(loss.value(X @ w, y, qid=qid), [value for _, value, _ in found], rtol=1e-12)
    value, gradient = LinearObjective(loss, RankingDataset(X, y, qid=qid), n_jobs=n_jobs).value_and_grad(w)
    assert value == pytest.approx(sum(value for _, value, _ in found), rel=1e-12)
    np.testing.assert_allclose(gradient, sum(X[rows].T @ slope for rows, _, slope in found), rtol=1e-11)
    assert "neighbouring grades" in repr(loss)


def test_the_example_of_the_readme(elsewhere):
    """max(0, 1 + best score of the lower grades - best score of the highest grade)."""
    loss = KernelLoss(elsewhere.TopOne())
    values, gradient = loss.value_and_grad([0.5, 2.0, 1.0, 3.0, 1.0, 7.0], [2, 0, 1, 1, 0, 1], group=[3, 2, 1])
    assert values.tolist() == [2.5, 0.0, 0.0]
    assert gradient.tolist() == [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
