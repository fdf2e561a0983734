"""The habits: imports point one way, every kernel has a stub, documentation runs, nothing extra is imported."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastrank

PACKAGE = Path(fastrank.__file__).parent
ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SOURCES = ROOT / "fastrank"  # not installed with the package, and absent where only the tests are

# A room may import rooms to its left in this list, and itself; `bounds` never learners.
LAYERS = [["_core"], ["data", "metrics", "losses"], ["objectives", "bounds"], ["learners"]]
TOP = ["models", "compat", "experiments", "cli"]
FOUNDATION = {"_errors", "_lazy", "_progress", "_threads", "_validation", "_version"}
EXTRAS = {"matplotlib", "pandas", "polars", "pyarrow", "sklearn", "lightgbm", "xgboost", "torch", "dask", "hypothesis"}
EXTRAS |= {"catboost", "ir_measures", "pytrec_eval", "ranx", "torchmetrics"}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def allowed(room: str) -> set[str]:
    for number, layer in enumerate(LAYERS):
        if room in layer:
            return {*FOUNDATION, *(name for names in LAYERS[: number + 1] for name in names)} - (
                {"learners"} if room == "bounds" else set()
            )
    return {*FOUNDATION, *TOP, *(name for names in LAYERS for name in names)}


def imports_of(file: Path, module: str) -> set[str]:
    if file.suffix == ".pyx":
        return set(re.findall(r"^from (fastrank[\w.]*) c?import", file.read_text(), re.MULTILINE))
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            source = node.module or ""
            # `from fastrank import data` imports a room by name
            found |= {f"fastrank.{alias.name}" for alias in node.names} if source == "fastrank" else {source}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] == "fastrank"}


def test_imports_point_one_way():
    root = SOURCES if SOURCES.is_dir() else PACKAGE
    files = [file for file in root.rglob("*.py*") if file.suffix in (".py", ".pyx") and file.name != "__main__.py"]
    assert len(files) > 20
    checked = 0
    for file in files:
        module = ".".join(("fastrank", *file.relative_to(root).with_suffix("").parts))
        room = room_of(module)
        if room in ("", "__init__"):
            continue
        for name in imports_of(file, module):
            target = room_of(name)
            if room == "_core":
                assert target == "_core", f"{module} imports {name}"
            elif room in FOUNDATION:
                assert target in {*FOUNDATION, "_core"}, f"{module} imports {name}"
            else:
                assert target in allowed(room), f"{module} imports {name}"
            checked += 1
    assert checked > 40


@pytest.mark.parametrize(
    ("room", "target"), [("data", "cli"), ("bounds", "learners"), ("metrics", "objectives"), ("objectives", "learners")]
)
def test_layers_forbid_what_they_should(room, target):
    assert target not in allowed(room)


def compiled_modules() -> list[str]:
    core = importlib.import_module("fastrank._core")
    return [info.name for info in pkgutil.iter_modules(core.__path__) if info.name != "_cyutility"]


def test_every_kernel_module_has_a_stub_that_names_what_it_has():
    assert compiled_modules()
    for name in compiled_modules():
        stub = ast.parse((PACKAGE / "_core" / f"{name}.pyi").read_text())
        declared = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        declared |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
        module = importlib.import_module(f"fastrank._core.{name}")
        public = {
            key
            for key, value in vars(module).items()
            if not key.startswith("__") and not inspect.ismodule(value) and not key.startswith("__pyx")
        }
        assert declared == public, f"{name}: stub and module differ by {declared ^ public}"


@pytest.mark.skipif(not SOURCES.is_dir(), reason="needs the Cython sources, and only the tests are here")
def test_stub_parameters_are_those_of_the_kernels():
    for name in compiled_modules():
        module = importlib.import_module(f"fastrank._core.{name}")
        stub = ast.parse((PACKAGE / "_core" / f"{name}.pyi").read_text())
        source = SOURCES / "_core" / f"{name}.pyx"
        for node in stub.body:
            if isinstance(node, ast.FunctionDef):
                assert hasattr(module, node.name)
                header = re.search(rf"^def {node.name}\((.*?)\):$", source.read_text(), re.MULTILINE | re.DOTALL)
                assert header, node.name
                names = [re.split(r"[\s*&]+", part.replace("not None", "").strip())[-1] for part in split(header[1])]
                assert names == [argument.arg for argument in node.args.args], node.name


def split(parameters: str) -> list[str]:
    """Cut at commas outside of brackets."""
    return re.split(r",(?![^\[]*\])", " ".join(parameters.split())) if parameters.strip() else []


def modules() -> list[str]:
    found = pkgutil.walk_packages(fastrank.__path__, "fastrank.")
    return [info.name for info in found if "._core." not in info.name and not info.name.endswith("__main__")]


@pytest.mark.parametrize("name", ["fastrank", *modules()])
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_names_exist_and_are_documented():
    for name in fastrank.__all__:
        value = getattr(fastrank, name)
        assert name == "__version__" or (value.__doc__ and len(value.__doc__) > 20), name
    assert set(dir(fastrank)) == set(fastrank.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fastrank.nonsense  # noqa: B018


def test_import_brings_no_extra():
    rooms = "fastrank.data, fastrank.metrics, fastrank.cli, fastrank.compat.sklearn, fastrank.compat.pytrec_eval"
    code = f"import sys, {rooms}; print(' '.join(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert EXTRAS.isdisjoint(name.split(".")[0] for name in found)
    assert "fastrank.data" in found


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_readme_marks_its_two_commands():
    assert len(snippets("sh run")) == len(snippets("sh test")) == 1


def test_readme_examples_run(tmp_path, monkeypatch):
    examples = snippets("python")
    assert examples
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, example in enumerate(examples):
        exec(compile(example, f"README.md, example {number + 1}", "exec"), names)


def test_readme_sessions_print_what_they_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sessions = snippets("pycon")
    assert sessions
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    names: dict[str, object] = {}
    for number, session in enumerate(sessions):
        test = parser.get_doctest(session, names, f"README.md, session {number + 1}", str(README), 0)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).failed == 0


def test_source_tree_without_kernels_says_what_to_do(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "fastrank", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    command = [sys.executable, "-c", "import fastrank.data"]
    found = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert "expected compiled kernels" in found.stderr
    assert "pip install -e ." in found.stderr
