"""Decimal text to double and back: exact, against Python's float and repr."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank._core import _letor

FINITE = st.floats(allow_nan=False, allow_infinity=False)
FINITE_SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)


def bits(value: float) -> bytes:
    """All of a double, the sign of zero too."""
    return np.float64(value).tobytes()


def check(text: str) -> bool:
    """Compare with Python; tell whether the parser decided by itself."""
    value = _letor.parse_number(text.encode())
    if value is None:
        return False
    assert bits(value) == bits(float(text)), text
    return True


def written(values: np.ndarray, *, decimals: int = -1, index_base: int = 0, columns: np.ndarray | None = None) -> str:
    out = bytearray(len(values) * (2 + 20 + _letor.LONGEST_NUMBER))
    size = _letor.format_row_into(values, columns, index_base, decimals, out)
    return out[:size].decode()


def texts_of(values: np.ndarray, *, decimals: int = -1) -> list[str]:
    return [token.partition(":")[2] for token in written(values, decimals=decimals).split()]


# Reading.


@settings(max_examples=300, deadline=None)
@given(FINITE, st.integers(0, 24))
def test_parse_number_floats_in_every_notation(value, digits):
    check(repr(value))
    check(f"{value:.{digits}e}")
    check(f"{value:.{digits}g}".upper())
    check(f"{value:+.{digits}f}")


@settings(max_examples=300, deadline=None)
@given(st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_parse_number_any_well_formed_text(text):
    check(text)


@pytest.mark.parametrize("n_digits", range(1, 26))
def test_parse_number_every_exponent(n_digits, rng):
    left_to_python = 0
    in_range = 0
    for exponent in range(-345, 312):
        mantissa = "".join(map(str, rng.integers(0, 10, n_digits).tolist()))
        for text in (
            f"{mantissa}e{exponent}",
            f"{mantissa[:1]}.{mantissa[1:]}E{exponent:+d}",
            f"-.{mantissa}e{exponent}",
        ):
            decided = check(text)
            if abs(exponent) <= 240:
                in_range += 1
                left_to_python += not decided
    # The slow way is for numbers of 20 digits and more and for ties. Where it is taken more often, reading is slow.
    assert left_to_python < 0.01 * in_range if n_digits <= 19 else left_to_python > 0.5 * in_range


@settings(max_examples=200, deadline=None)
@given(st.integers(-1074, 970), st.integers(2**52, 2**53 - 1))
def test_parse_number_halfway_between_two_doubles(exponent, mantissa):
    tie = Fraction(2 * mantissa + 1, 2) * Fraction(2) ** exponent
    digits, places = tie.numerator, 0
    while tie.denominator != 1:  # the denominator is a power of two, so this ends
        tie *= 10
        digits, places = tie.numerator, places + 1
    for near in (digits - 1, digits, digits + 1):
        check(f"{near}e-{places}")
    for n in range(15, 20):  # cut off or rounded up just beside the tie
        head, rest = str(digits)[:n], len(str(digits)) - n
        if rest > 0:
            check(f"{head}e{rest - places}")
            check(f"{int(head) + 1}e{rest - places}")


@pytest.mark.parametrize("power", range(54, 64))
def test_parse_number_integers_around_ties_of_at_most_19_digits(power):
    step = 2 ** (power - 53)
    for base in (2 ** (power - 1), 2 ** (power - 1) + 2 * step, 2 ** (power - 1) + 3 * step):
        for near in range(base + step // 2 - 1, base + step // 2 + 2):
            check(str(near))
            check(f"{near}.0")
            check(f"{near}0e-1")


@pytest.mark.parametrize(
    "text",
    [
        "0", "-0", "+0", "0.0", "-0.0", "00000000000000000000000", "0e999999999999", "-0e-5", ".0", "0.", "007", "1.",
        ".5", "-.5e1", "1e0", "1E+0", "1e-0", "12345678", "123456789", "1234567.8", "12345678.12345678",
        "0.00000000000000000000000000012345", "00000000000000000000001.5", "9999999999999999999",
        "18446744073709551615", "18446744073709551616", "9007199254740992", "9007199254740993", "9007199254740994",
        "1e22", "1e23", "1e-22", "1e-23", "8.5e22", "2.2250738585072011e-308", "4.9e-324", "2.4e-324",
        "1.7976931348623157e308", "1.7976931348623159e308", "1e400", "-1e400", "1e-400", "0.1", "0.3", "1e270",
        "1e271", "1e-290", "1e-291", "7.2057594037927933e16",
    ],
)  # fmt: skip
def test_parse_number_known_hard_cases(text):
    check(text)


@pytest.mark.parametrize(
    "text", ["0", "1", "0.5", "-0.25", "0.007477", "4.56828e-05", "123456", "1e22", "0.1234567890123456"]
)
def test_parse_number_usual_values_need_no_help(text):
    assert check(text)


@pytest.mark.parametrize("zeros", [10, 1_000, 123_456, 1_000_000])
@pytest.mark.parametrize("exponent", [-12_345_678, -1_234_567, 1_234_567, 12_345_678_901])
def test_parse_number_exponent_against_many_zeros(zeros, exponent):
    check(f"0.{'0' * zeros}1e{exponent}")
    check(f"1{'0' * zeros}e{-exponent}")


@pytest.mark.parametrize(
    "text",
    [
        b"", b"-", b"+", b".", b"-.", b"e5", b".e5", b"1e", b"1e+", b"1e-", b"--1", b"+-1", b"1 ", b" 1", b"1,5",
        b"1.2.3", b"0x10", b"1_000", b"1f", b"nan", b"NULL", b"inf", b"-Infinity", b"1\x00", b"\x00", b"1e5.0",
        b"\xd9\xa1", b":1", b"/1", b"1:", b"1/", b"12345678a", b"1234567\xff", b"\xb1",
    ],
)  # fmt: skip
def test_parse_number_rejects_what_is_no_finite_number(text):
    with pytest.raises(ValueError, match="expected a finite decimal number, got b"):
        _letor.parse_number(text)


def test_parse_number_every_byte_behind_and_between_digits():
    for byte in range(256):
        for text in (
            b"1" + bytes([byte]),
            bytes([byte]) + b"1",
            b"1234567" + bytes([byte]) + b"5",
            b"0." + bytes([byte]),
        ):
            try:
                expected = float(text) if b"_" not in text and text.strip() == text else None
            except ValueError:
                expected = None
            if expected is None:
                with pytest.raises(ValueError, match="expected a finite decimal number"):
                    _letor.parse_number(text)
            else:
                assert _letor.parse_number(text) == expected


# Writing.


@settings(max_examples=200, deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=20))
def test_format_row_double_reads_back_the_same_bits(values):
    texts = texts_of(np.array(values))
    assert [bits(float(text)) for text in texts] == [bits(value) for value in values]
    for text in texts:
        check(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(FINITE_SINGLE, min_size=1, max_size=20))
def test_format_row_single_reads_back_the_same_bits(values):
    row = np.array(values, dtype=np.float32)
    back = np.array([float(text) for text in texts_of(row)]).astype(np.float32)
    assert back.tobytes() == row.tobytes()


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(0, 12))
def test_format_row_decimal_fractions_are_written_as_short_as_they_are(units, places):
    value = units / 10**places
    (text,) = texts_of(np.array([value]))
    assert bits(float(text)) == bits(value)
    assert len(text) <= len(f"{value:.{places}f}")
    if abs(units) < 10**6:  # more digits than that are not a float's own
        (single,) = texts_of(np.array([value], dtype=np.float32))
        assert len(single) <= len(f"{value:.{places}f}")


def test_format_row_known_texts():
    assert texts_of(np.array([0.0, -0.0, 1.0, 0.1, -2.5, 1e15, 1e16, 1e-300])) == [
        "0", "-0", "1", "0.1", "-2.5", "1000000000000000", "1e+16", "1e-300",
    ]  # fmt: skip
    assert texts_of(np.array([0.1, 16777216.0, 1 / 3], dtype=np.float32)) == ["0.1", "16777216", "0.33333334"]
    assert texts_of(np.array([np.nan])) == ["nan"]


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.integers(0, 9))
def test_format_row_fixed_decimals(value, decimals):
    (text,) = texts_of(np.array([value]), decimals=decimals)
    assert len(text.partition(".")[2]) == decimals
    assert "e" not in text
    # half a unit, and the rounding of value * 10^decimals
    assert abs(Fraction(text) - Fraction(value)) <= Fraction(1, 2 * 10**decimals) + Fraction(abs(value)) / 2**52


def test_format_row_fixed_decimals_known_texts():
    assert texts_of(np.array([0.0, 0.5, 2 / 3, -1.0, 123.456789]), decimals=3) == [
        "0.000", "0.500", "0.667", "-1.000", "123.457",
    ]  # fmt: skip
    assert texts_of(np.array([2.5e-7, 7.0]), decimals=0) == ["0", "7"]
    assert float(texts_of(np.array([1.25e300]), decimals=6)[0]) == 1.25e300


def test_format_row_indices():
    values = np.array([1.0, 2.0, 3.0])
    assert written(values) == " 0:1 1:2 2:3"
    assert written(values, index_base=1) == " 1:1 2:2 3:3"
    columns = np.array([0, 9, 2**31 - 2], dtype=np.int32)
    assert written(values, columns=columns, index_base=1) == " 1:1 10:2 2147483647:3"
    assert _letor.format_row_into(np.zeros(0), None, 1, -1, bytearray(1)) == 0


def test_format_row_longest_texts_fit_their_room(rng):
    values = np.concatenate(
        (rng.standard_normal(500) * 10.0 ** rng.integers(-308, 308, 500), [-5e-324, -np.finfo(float).max])
    )
    for decimals in (-1, 0, 6, 15):
        assert max(map(len, texts_of(values, decimals=decimals))) <= _letor.LONGEST_NUMBER
