"""The progress bar and the exception of damaged files."""

import io
import pickle
from pathlib import Path

import pytest

from fastrank import _progress
from fastrank._errors import DataFormatError
from fastrank._progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "enabled", "shows"),
    [
        (io.StringIO, None, False),
        (io.StringIO, False, False),
        (io.StringIO, True, True),
        (Terminal, None, True),
        (Terminal, False, False),
    ],
)
def test_writes_only_where_a_person_is_looking(stream, enabled, shows):
    out = stream()
    with Progress("reading", enabled=enabled, stream=out) as progress:
        progress.update(0.5)
    text = out.getvalue()
    assert bool(text) == shows
    if shows:
        assert text.startswith("\rreading [##############..............]  50%")
        assert "\rreading [############################] 100%" in text
        assert text.endswith(" s\n")


def test_standard_error_by_default(capsys):
    with Progress("writing", enabled=True):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    assert "writing" in err


def test_does_not_draw_too_often(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock[0])
    out = io.StringIO()
    progress = Progress("x", enabled=True, stream=out)
    for step in range(100):
        clock[0] = step * 0.01
        progress.update(step / 100)
    assert out.getvalue().count("\r") == 10


def test_a_failure_does_not_show_as_done():
    out = io.StringIO()
    progress = Progress("x", enabled=True, stream=out)
    with pytest.raises(KeyError), progress:
        raise KeyError
    assert "100%" not in out.getvalue()
    assert out.getvalue().endswith("\n")


def test_fractions_outside_are_clipped():
    for fraction, shown in ((-3, "[............................]   0%"), (7, "[############################] 100%")):
        out = io.StringIO()
        Progress("x", enabled=True, stream=out).update(fraction)
        assert shown in out.getvalue()


@pytest.mark.parametrize(("line", "text"), [(None, "a/b.txt: cut off"), (7, "a/b.txt:7: cut off")])
def test_format_errors_say_where_and_survive_pickling(line, text):
    error = DataFormatError("cut off", path=Path("a/b.txt"), line=line)
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert isinstance(one, ValueError)
        assert str(one) == text
        assert (one.path, one.line) == ("a/b.txt", line)
