"""Arguments of questions that are no keys of a scenario: what may stand in them, and how an error says what did not."""

import operator
import os

from ._errors import InputError

_LONGEST = 80  # of a value in a message
_LARGEST = 2**63 - 1


def shown(value):
    """A value as messages show it, what is too long to be read left out; its class where it cannot say it."""
    try:
        text = repr(value).encode(errors="backslashreplace").decode()
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def place_of(name, value):
    """Where an argument stands: "at_length=0"."""
    return f"{name}={shown(value)}"


def refused(name, value, problem, remedy, place=None):
    """The error about an argument."""
    error = InputError(f"{name}: {problem}; {remedy}")
    error.value, error.place = value, place or place_of(name, value)
    return error


def whole(name, value, least=0):
    """A whole number, NumPy's too."""
    allowed = f"allowed: whole numbers from {least}"
    try:
        number = None if _is_bool(value) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise refused(name, value, f"{shown(value)} is no whole number", allowed)
    if number < least:
        raise refused(name, value, f"{shown(number)} is too small", allowed)
    if number > _LARGEST:
        raise refused(name, value, f"{shown(number)} is too large", f"allowed: up to {_LARGEST}")
    return number


def real(name, value):
    """A number."""
    try:
        number = None if _is_bool(value) or isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise refused(name, value, f"{shown(value)} is no number", "give one like 0.9")
    return number


def listed(name, values, each):
    """One value or an iterable of them, each as `each(name, value)` has it; None is as good as not given."""
    if values is None:
        return []
    return [each(name, value) for value in (items(values) if is_list(values) else [values])]


def word(name, value):
    """A name of something."""
    if not isinstance(value, str):
        raise refused(name, value, f"{shown(value)} is no name", "give a str")
    return _utf8(name, value)


def path(name, value):
    """The path of a file."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(value, type):
        raise refused(name, value, f"{shown(value)} is no path", "give that of a file")
    return _utf8(name, os.fspath(value))


def _utf8(name, value):
    """A text that can be given to the program."""
    try:
        is_text = b"\0" not in value.encode()
    except UnicodeEncodeError:
        is_text = False
    if not is_text:
        raise refused(name, value, f"{shown(value)} is no text", "it has a zero in it, or what UTF-8 has no letter for")
    return value


def _is_bool(value):
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")  # NumPy's


def flag(name, value, default=False):
    """True or False, NumPy's too; None is as good as not given."""
    if value is None:
        return default
    if not _is_bool(value):
        raise refused(name, value, f"{shown(value)} is neither True nor False", "give one of them")
    return bool(value)


def is_list(value):
    """Has it items, and is not one value itself? NumPy's number is an array of no axis."""
    return (hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict, type))
            and getattr(value, "ndim", 1) != 0)


def items(values):
    """The items of a list; of NumPy's as plain ones."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def mapping(name, value):
    """A mapping of names to values; None is as good as not given."""
    if value is None:
        return {}
    if not hasattr(value, "keys") or isinstance(value, type):
        raise refused(name, value, f"{shown(value)} is no mapping", "give one of keywords to values")
    return {word(name, key): value[key] for key in value.keys()}
