"""Lines of csv parsed by compiled code, straight into the rows of a table, as long as every cell is plain.

Plain are numbers of up to 18 digits and 22 decimals, whole numbers of up to 15 digits, dates such as 2024-05-31, texts
that are known, and empty cells. Anything else (a quote, a space, a text that is new) is left to polars, which reads
the same lines again, so this decides nothing: a cell has one meaning or is not plain.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._compiled._compile import compiled_for_threads

Bytes = npt.NDArray[np.uint8]
NUMBER, WHOLE, DATE, TEXT, SKIP = range(5)
"""What a column holds; SKIP where nobody asks for it."""
MAX_DIGITS, MAX_WHOLE_DIGITS, MAX_POWER = 18, 15, 22
POWERS = np.array([float(f"1e{power}") for power in range(MAX_POWER + 1)])
"""All that float64 holds exactly."""
SPLIT = 2.0**27 + 1.0
"""By which a float64 is split into two halves, the products of which are exact."""
UNSURE = 2.0**-50
"""A bound on the relative error of the second part of a quotient or product."""
MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
BEFORE_MONTH = np.cumsum(MONTH_DAYS) - MONTH_DAYS
DAYS_TO_1970, DAY_SECONDS = 719162, 86400.0
NO_DIGITS, MAX_EXPONENT_DIGITS = 10**6, 4
MINUS, POINT, ZERO, UPPER_E, LOWER_E, PLUS, QUOTE, LINE, RETURN = np.frombuffer(b'-.0Ee+"\n\r', np.uint8)
NINE = np.uint8(9)
FNV_BASIS, FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)
FAILED, ONE, TWO, FOUR, FIVE, SEVEN, EIGHT, TEN = np.array([0, 1, 2, 4, 5, 7, 8, 10], np.uint64)
"""Places in the bytes are unsigned: signed ones are checked for being negative."""


class KnownTexts(NamedTuple):
    """Texts of columns, to be found by their hash: a row for each column.

    `places` has the number of a text, -1 where there is none; text number i of column c is letters[starts[c, i] :
    starts[c, i + 1]].
    """

    hashes: npt.NDArray[np.uint64]
    places: npt.NDArray[np.int16]
    starts: npt.NDArray[np.int64]
    letters: npt.NDArray[np.uint8]


def known_texts(columns: list[list[str]]) -> KnownTexts:
    """The texts of each column, by their order."""
    most = max((len(texts) for texts in columns), default=0)
    size = 1 << (2 * most + 1).bit_length()
    shape = (max(len(columns), 1), size)
    hashes, places = np.zeros(shape, np.uint64), np.full(shape, -1, np.int16)
    starts, letters = np.zeros((shape[0], most + 1), np.int64), b""
    for column, texts in enumerate(columns):
        for number, text in enumerate(texts):
            cell = text.encode()
            slot = fnv(cell) % size
            while places[column, slot] >= 0:
                slot = (slot + 1) % size
            hashes[column, slot], places[column, slot] = fnv(cell), number
            starts[column, number] = len(letters)
            letters += cell
        starts[column, len(texts) :] = len(letters)
    return KnownTexts(hashes, places, starts, np.frombuffer(letters, np.uint8))


def fnv(cell: bytes) -> int:
    """The hash of Fowler, Noll and Vo (FNV-1a, 64 bits).

    >>> hex(fnv(b"a"))
    '0xaf63dc4c8601ec8c'
    """
    found = int(FNV_BASIS)
    for byte in cell:
        found = (found ^ byte) * int(FNV_PRIME) % 2**64
    return found


@compiled_for_threads
def rounded(digits: int, power: int) -> float:
    """The number digits 10^power as `float` rounds it; NaN where the error of two float64 leaves that open."""
    if power < -MAX_POWER or power > MAX_POWER:
        return np.nan
    high = np.float64(digits)
    scale = POWERS[abs(power)]
    first = high * scale if power >= 0 else high / scale
    if digits <= 2**53:  # both are exact, so one operation is rounded once
        return first
    low = np.float64(digits - np.int64(high))
    left = high if power >= 0 else first
    product = left * scale
    error = product_error(left, scale, product)
    second = error + low * scale if power >= 0 else ((high - product) - error + low) / scale
    least, most = first + second * (1.0 - UNSURE), first + second * (1.0 + UNSURE)
    return least if least == most else np.nan


@compiled_for_threads
def product_error(x: float, y: float, product: float) -> float:
    """What x y is more than its rounded product (Dekker, 1971)."""
    upper, other = x * SPLIT, y * SPLIT
    upper, other = upper - (upper - x), other - (other - y)
    lower, rest = x - upper, y - other
    return ((upper * other - product) + upper * rest + lower * other) + lower * rest


@compiled_for_threads
def digits_from(cells: Bytes, at: int, digits: int) -> tuple[int, int]:
    """The digits from a byte on, behind those there are, and where they end."""
    digit = cells[at] - ZERO
    while digit <= NINE:
        digits = digits * 10 + np.int64(digit)
        at += ONE
        digit = cells[at] - ZERO
    return digits, at


@compiled_for_threads
def zeros_from(cells: Bytes, at: int) -> int:
    """Where zeros end."""
    while cells[at] == ZERO:
        at += ONE
    return at


@compiled_for_threads
def number(cells: Bytes, at: int, whole: bool) -> tuple[float, int]:
    """The number that begins at a byte, and where it ends; 0 where it is none or not plain."""
    negative = cells[at] == MINUS
    if negative:
        at += ONE
    begun = at
    at = zeros_from(cells, at)
    first = at
    digits, at = digits_from(cells, at, np.int64(0))
    used, power = np.int64(at - first), np.int64(0)
    if at == begun or used > MAX_DIGITS or (whole and used > MAX_WHOLE_DIGITS):
        return np.nan, FAILED
    if whole:
        return np.float64(-digits if negative else digits), at
    if cells[at] == POINT:
        at += ONE
        begun = at
        if used == 0:
            at = zeros_from(cells, at)
        first = at
        digits, at = digits_from(cells, at, digits)
        used, power = used + np.int64(at - first), -np.int64(at - begun)
        if at == begun or used > MAX_DIGITS:
            return np.nan, FAILED
    if cells[at] == LOWER_E or cells[at] == UPPER_E:
        at += ONE
        down = cells[at] == MINUS
        if down or cells[at] == PLUS:
            at += ONE
        begun = at
        exponent, at = digits_from(cells, at, np.int64(0))
        if at == begun or at - begun > MAX_EXPONENT_DIGITS:
            return np.nan, FAILED
        power += -exponent if down else exponent
    value = rounded(digits, power)
    if np.isnan(value):
        return value, FAILED
    return (-value if negative else value), at


@compiled_for_threads
def two_digits(cells: Bytes, at: int) -> int:
    """The number of two digits that begins at a byte; a large one where they are none."""
    tens, units = cells[at] - ZERO, cells[at + ONE] - ZERO
    return np.int64(tens) * 10 + np.int64(units) if tens <= NINE and units <= NINE else NO_DIGITS


@compiled_for_threads
def day(cells: Bytes, at: int) -> tuple[int, bool]:
    """The days from 1970 on of a date that begins at a byte, and whether it is one."""
    if at + TEN >= cells.size or cells[at + FOUR] != MINUS or cells[at + SEVEN] != MINUS:
        return 0, False
    year = two_digits(cells, at) * 100 + two_digits(cells, at + TWO)
    month, of_month = two_digits(cells, at + FIVE), two_digits(cells, at + EIGHT)
    if not 1 <= year <= 9999 or not 1 <= month <= 12:
        return 0, False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= of_month <= MONTH_DAYS[month - 1] + (leap and month == 2):
        return 0, False
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - DAYS_TO_1970 + of_month - 1
    return days + BEFORE_MONTH[month - 1] + (leap and month > 2), True


@compiled_for_threads
def cell_end(cells: Bytes, at: int, end: int) -> int:
    """Where a cell ends: at `end`, or at what no plain cell has inside."""
    byte = cells[at]
    while byte != end and (byte > QUOTE or (byte != LINE and byte != RETURN and byte != QUOTE)):
        at += ONE
        byte = cells[at]
    return at


@compiled_for_threads
def text(cells: Bytes, first: int, at: int, column: int, known: KnownTexts) -> int:
    """The number of the text from `first` up to `at`; -1 where it is not known."""
    found = FNV_BASIS
    for i in range(first, at):
        found = (found ^ np.uint64(cells[i])) * FNV_PRIME
    last = np.uint64(known.places.shape[1] - 1)
    slot = found & last
    while known.places[column, slot] >= 0 and known.hashes[column, slot] != found:
        slot = (slot + ONE) & last
    place = known.places[column, slot]
    if place < 0:
        return place
    start, stop = known.starts[column, place], known.starts[column, place + 1]
    if np.uint64(stop - start) != at - first:
        return np.int16(-1)
    for i in range(stop - start):
        if known.letters[start + i] != cells[first + np.uint64(i)]:
            return np.int16(-1)
    return place


@compiled_for_threads
def parse(
    cells: Bytes,
    separator: int,
    kinds: Bytes,
    places: npt.NDArray[np.int64],
    known: KnownTexts,
    mark: float,
    table: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int16],
    gone: npt.NDArray[np.bool_],
) -> int:
    """Parse whole lines into `table` and `codes`; the number of rows, -1 where a cell is not plain.

    A column of `kinds[c]` goes to column places[c] of the table, texts to the one that their number is added to, with
    `mark` (nowhere if that is negative); numbers of texts are in `codes`, a row for each such column. gone[c] is set
    where a cell is empty: NaN, or code -1.
    """
    at, row, width = FAILED, 0, kinds.size
    while at < cells.size:
        texts = 0
        for c in range(width):
            end = separator if c < width - 1 else LINE
            kind = kinds[c]
            if cells[at] == end or (cells[at] == RETURN and end == LINE):
                if width == 1:
                    return -1
                gone[c] |= kind != SKIP
                if kind == TEXT:
                    codes[texts, row] = -1
                elif kind != SKIP:
                    table[row, places[c]] = np.nan
            elif kind <= WHOLE:
                value, at = number(cells, at, kind == WHOLE)
                if at == FAILED:
                    return -1
                table[row, places[c]] = value
            elif kind == DATE:
                days, right = day(cells, at)
                if not right:
                    return -1
                table[row, places[c]] = days * DAY_SECONDS
                at += TEN
            else:
                first, at = at, cell_end(cells, at, end)
                if kind == TEXT:
                    code = text(cells, first, at, texts, known)
                    if code < 0:
                        return -1
                    codes[texts, row] = code
                    if places[c] >= 0:
                        table[row, places[c] + code] = mark
            texts += kind == TEXT
            if cells[at] == RETURN and end == LINE:
                at += ONE
            if cells[at] != end:
                return -1
            at += ONE
        row += 1
    return row


def compile_ahead() -> None:
    """Compile, or load what is compiled already."""
    nothing: Bytes = np.zeros(0, np.uint8)
    table, codes = np.zeros((0, 0)), np.zeros((0, 0), np.int16)
    parse(nothing, LINE, nothing, np.zeros(0, np.int64), known_texts([]), 1.0, table, codes, np.zeros(0, bool))
