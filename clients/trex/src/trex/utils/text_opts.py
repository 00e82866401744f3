"""Text with colors for terminals."""

import sys

CODES = {
    "bold": 1, "underline": 4, "dim": 2, "black": 30, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35,
    "cyan": 36, "white": 37, "grey": 90,
}  # fmt: skip


def format_text(text, *attributes):
    """The text with the attributes (bold, underline, colors), if standard output is a terminal."""
    codes = [str(CODES[name]) for name in attributes if name in CODES]
    if not codes or not sys.stdout.isatty():
        return str(text)
    return f"\033[{';'.join(codes)}m{text}\033[0m"


def _styled(name):
    def styled(text):
        return format_text(text, name)

    styled.__doc__ = f"The text in {name}."
    return styled


bold, underline, red, green, blue, yellow, cyan, magenta = map(
    _styled, ("bold", "underline", "red", "green", "blue", "yellow", "cyan", "magenta")
)


def format_num(size, suffix="", compact=True, opts=None):
    """A number with a prefix such as k or M."""
    if not isinstance(size, (int, float)):
        return "N/A"
    value, units = float(size), ["", "K", "M", "G", "T", "P"]
    while compact and abs(value) >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    unit = units[0]
    text = f"{value:3.2f} {unit}{suffix}" if unit or suffix or not float(value).is_integer() else f"{int(value)}"
    return format_text(text, *(opts if isinstance(opts, tuple) else ((opts,) if opts else ())))


def format_threshold(size, warning, good):
    """A number as text."""
    return str(size)
