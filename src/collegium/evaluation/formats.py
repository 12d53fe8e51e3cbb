"""How numbers are written, everywhere the same: the value, and `low to high` beside it."""

from collections.abc import Callable
from typing import NamedTuple

from collegium.evaluation.records import Estimate

UNDEFINED = "–"


class Written(NamedTuple):
    """A number as text, its interval as text (empty if there is none), and the number itself."""

    text: str
    detail: str = ""
    value: float | None = None


def written(estimate: Estimate, form: Callable[[float], str], unit: str = "") -> Written:
    """Write an estimate with `form`; the unit stands after the value only.

    An end without bound is written as infinity. No interval is written where it has no width.
    """
    if estimate.value is None:
        return Written(UNDEFINED)
    text = form(estimate.value) + unit
    if estimate.low == estimate.high:
        return Written(text, "", estimate.value)
    low = "−∞" if estimate.low is None else form(estimate.low)
    high = "∞" if estimate.high is None else form(estimate.high)
    return Written(text, f"{low} to {high}", estimate.value)


def percent(share: float) -> str:
    """Write a share in hundredths: 27.1."""
    return _tidy(100 * share, 1)


def points(difference: float) -> str:
    """Write a difference of shares in percentage points, always signed: +8.0."""
    return _signed(100 * difference, 1)


def change(ratio: float) -> str:
    """Write a relative change in hundredths, always signed: −21."""
    return _signed(100 * ratio, 0)


def decimal(value: float) -> str:
    """Write with two decimals: 11.77."""
    return _tidy(value, 2)


def preference(value: float) -> str:
    """Write an RPP: three decimals, always signed: −0.159."""
    return _signed(value, 3)


def whole(value: float) -> str:
    """Write as a whole number in groups of thousands: 12,345."""
    return f"{value:,.0f}".replace("-", "−")


def money(value: float) -> str:
    """Write US dollars: $12.30, $0.0041."""
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def p_value(value: float) -> str:
    """Write a p-value: p = 0.042, p < 0.001."""
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: 1 episode, 2 episodes."""
    return f"{whole(count)} {noun}" + ("" if count == 1 else "s")


def duration(seconds: float) -> str:
    """Write a time span: 3 h 05 min, 4 min 12 s, 8.4 s."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def _tidy(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text


def _signed(value: float, digits: int) -> str:
    text = _tidy(value, digits)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"
