r"""Columns of texts, as csv and sheets hold them: missing values, numbers in disguise, booleans and dates.

A cell that is one of `MISSING`, blanks around it aside, is missing. A column is of numbers when
every other cell is, written with one decimal sign: 1234.5 · 1,234.50 · 1.234,50 · 1 234,50 ·
1'234.50, with one currency ($1,234.00, 1.234,50 €, EUR 5), all in percent (12.5% is 0.125),
negative by a sign or in parentheses. A column most of whose cells are numbers and some are not is
refused with the first that is not; other columns are texts, as they are.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "-", "?", ".")
"""Cells that say that there is no value, in columns of any kind."""
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
MOSTLY = 0.5
"""The share of cells above which a column is meant to be of numbers."""
SAMPLE = 200
"""Cells on which a date format is tried before all are."""
DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%d %b %Y",
    "%b %d, %Y",
    "%d-%b-%Y",
)
TIMES = (
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
)
ZONE = "%#z"

_CURRENCY = r"[$€£¥₹₩₽₺₫฿]|[A-Z]{0,2}\$|USD|EUR|GBP|CHF|JPY|CNY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|MXN|ZAR|kr|zł"
_BLANKS = r"[ \u00a0\u202f\u2009]"
_EXPONENT = r"(?:[eE][-+]?\d+)?"
_THOUSANDS = r"(?:\d{1,3}(?:(?:SIGN\d{3})+|(?:['’]\d{3})+|(?:[ \u00a0\u202f\u2009]\d{3})+)|\d+)"
"""Whole numbers with one sign between thousands, or none."""
_DOT = _THOUSANDS.replace("SIGN", ",") + rf"(?:\.\d*)?{_EXPONENT}|\.\d+{_EXPONENT}"
_COMMA = _THOUSANDS.replace("SIGN", r"\.") + rf"(?:,\d*)?{_EXPONENT}|,\d+{_EXPONENT}"
_FRONT = rf"^(?P<open>\()?{_BLANKS}*(?P<sign>[-+−])?{_BLANKS}*(?P<front>{_CURRENCY})?{_BLANKS}*(?P<inner>[-−])?"
_BACK = rf"{_BLANKS}*(?P<back>%|{_CURRENCY})?{_BLANKS}*(?P<close>\))?$"
STYLES = {
    ".": rf"{_FRONT}(?P<body>{_DOT}){_BACK}",
    ",": rf"{_FRONT}(?P<body>{_COMMA}){_BACK}",
}
"""Numbers by their decimal sign: parentheses, sign, currency, the number, percent or currency."""


@dataclass(frozen=True)
class Problem:
    """A cell that is not what its column is; the row is None where all of the column is wrong."""

    row: int | None
    cell: Any
    expected: str


@dataclass(frozen=True, eq=False)
class Parsed:
    """A column with its type, a note on it, the decimal sign that it shows, and what is wrong in it."""

    values: pl.Series
    note: str = ""
    decimal: str | None = None
    problem: Problem | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column is of numbers or booleans, or is meant to be."""
        dtype = self.values.dtype
        return self.problem is not None or dtype.is_numeric() or dtype == pl.Boolean


def without_missing(cells: pl.Series) -> pl.Series:
    """The texts with the missing ones as nulls."""
    return cells.set(cells.str.strip_chars().is_in(MISSING), None)


def parsed(cells: pl.Series, decimal: str | None = None, comma_first: bool = False) -> Parsed:
    """A column of texts by its kind.

    `decimal` is the decimal sign of other columns, None where they show none; then 1,234 is a
    decimal if `comma_first`.
    """
    kept = without_missing(cells)
    bare = kept.str.strip_chars()
    if bare.null_count() == len(bare):
        return Parsed(bare.cast(pl.Float64))
    dated = _dates(bare)
    if dated is not None:
        return dated
    plain = None if decimal == "," and is_grouped(bare) else _plain(bare)
    if plain is None:
        return _styled(kept, bare, decimal, comma_first)
    if plain.dtype == pl.Int64 and bare.str.contains(r"^0\d").any():
        return Parsed(
            kept, f"{bare.name!r} holds codes with leading zeros, which are taken as texts"
        )
    return Parsed(plain)


def _plain(bare: pl.Series) -> pl.Series | None:
    """Whole numbers, numbers or booleans as programs write them."""
    for dtype in (pl.Int64, pl.Float64):
        values = bare.cast(dtype, strict=False)
        if values.null_count() == bare.null_count():
            return values
    return bare.is_in(TRUE) if bare.is_in([*TRUE, *FALSE]).all() else None


def is_grouped(bare: pl.Series, sign: str = ".") -> bool:
    """Whether every dot, or other sign, may be one between thousands."""
    dotted = bare.filter(bare.str.contains(sign, literal=True))
    return len(dotted) > 0 and bool(
        dotted.str.contains(rf"^[-+]?\d{{1,3}}(?:[{sign}]\d{{3}})+$").all()
    )


def _dates(bare: pl.Series) -> Parsed | None:
    """Dates, or dates with times, all in one of the known formats."""
    sample = bare.drop_nulls().head(SAMPLE)
    length = sample.str.len_chars()
    if not sample.str.contains(r"\d[-/. :,]").all() or not length.is_between(6, 40).all():
        return None
    readable = [fmt for fmt in (*DATES, *TIMES) if _dated(sample, fmt).null_count() == 0]
    tried = {fmt: _dated(bare, fmt) for fmt in readable}
    fitting = [fmt for fmt, each in tried.items() if each.null_count() == bare.null_count()]
    if not fitting:
        return None
    note = ""
    if len(fitting) > 1 and fitting[0].startswith("%d/%m"):
        note = f"{bare.name!r} holds dates such as {sample[0]!r}, which are taken as day/month/year"
    return Parsed(tried[fitting[0]], note)


def _dated(bare: pl.Series, fmt: str) -> pl.Series:
    """Texts as dates of one format, null where they are not."""
    if fmt in DATES:
        return bare.str.to_date(fmt, strict=False)
    zone = "UTC" if fmt.endswith(ZONE) else None
    return bare.str.to_datetime(fmt, strict=False, time_unit="us", time_zone=zone)


def _styled(kept: pl.Series, bare: pl.Series, decimal: str | None, comma_first: bool) -> Parsed:
    """Numbers in disguise, or texts; a column with a stray cell comes as texts and a problem."""

    def stray(wrong: pl.Series, expected: str) -> Parsed:
        row = int(wrong.fill_null(False).arg_max() or 0)
        return Parsed(kept, problem=Problem(row, bare[row], expected))

    count = len(bare) - bare.null_count()
    matches = {sign: bare.str.contains(pattern) for sign, pattern in STYLES.items()}
    counts = {sign: int(match.sum()) for sign, match in matches.items()}
    fitting = [sign for sign in STYLES if counts[sign] == count]
    if not fitting:
        if int((matches["."] | matches[","]).sum()) <= MOSTLY * count:
            return Parsed(kept)
        sign = max(STYLES, key=counts.__getitem__)
        like = bare.filter(matches[sign])[0]
        share = f"{counts[sign]} of {count} cells are numbers such as {like!r}"
        return stray(~matches[sign], f"a number ({share})")
    sign = fitting[0]
    if len(fitting) == 2 and bare.str.contains(r"[.,]").any():
        sign = decimal or ("," if comma_first else ".")
    parts = bare.str.extract_groups(STYLES[sign]).struct.unnest()
    percent = (parts["back"] == "%").fill_null(False)
    if percent.any() and not (percent | bare.is_null()).all():
        return stray(~percent & bare.is_not_null(), "percent, as other cells have it")
    front = parts["front"].set(parts["front"] == "", None)
    money = front.fill_null(parts["back"].set(percent, None))
    currencies = money.drop_nulls()
    if currencies.n_unique() > 1:
        expected = f"an amount in {currencies[0]}, as in other cells"
        return stray(money != currencies[0], expected)
    values = _numbers(parts, sign) / (100.0 if percent.any() else 1.0)
    example = int(bare.str.contains(r"[^\d+-]").fill_null(False).arg_max() or 0)
    note = (
        f"{bare.name!r} holds numbers written like {bare[example]!r}, taken as {values[example]!r}"
    )
    return Parsed(values.rename(bare.name), note, None if len(fitting) == 2 else sign)


def _numbers(parts: pl.DataFrame, sign: str) -> pl.Series:
    """The numbers of cells by their parts."""
    thousands = "," if sign == "." else r"\."
    body = parts["body"].str.replace_all(rf"['’ \u00a0\u202f\u2009{thousands}]", "")
    numbers = body.str.replace(",", ".", literal=True).cast(pl.Float64)
    signs = parts["sign"].is_in(["-", "−"]).fill_null(False)
    negative = parts["open"].is_not_null() | signs | parts["inner"].is_not_null()
    return (-numbers).zip_with(negative, numbers)
