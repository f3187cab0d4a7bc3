"""Arguments of questions that are no keys of a scenario: what may stand in them, and how an error says what did not."""

import operator

from ._errors import InputError

_LONGEST = 80  # of a value in a message
_LARGEST = 2**63 - 1


def place_of(name, value):
    """Where an argument stands: "at_length=0", what is too long to be read left out."""
    text = f"{name}={value!r}"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def refused(name, value, problem, remedy, place=None):
    """The error about an argument."""
    error = InputError(f"{name}: {problem}; {remedy}")
    error.value, error.place = value, place or place_of(name, value)
    return error


def whole(name, value, least=0):
    """A whole number, NumPy's too."""
    allowed = f"allowed: whole numbers from {least}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise refused(name, value, f"{value!r} is no whole number", allowed)
    if number < least:
        raise refused(name, value, f"{number} is too small", allowed)
    if number > _LARGEST:
        raise refused(name, value, f"{number} is too large", f"allowed: up to {_LARGEST}")
    return number


def real(name, value):
    """A number."""
    try:
        number = None if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise refused(name, value, f"{value!r} is no number", "give one like 0.9")
    return number


def listed(name, values, each):
    """One value or an iterable of them, each as `each(name, value)` has it; None is as good as not given."""
    if values is None:
        return []
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        values = [values]
    return [each(name, value) for value in values]


def word(name, value):
    """A name of something."""
    if not isinstance(value, str):
        raise refused(name, value, f"{value!r} is no name", "give a str")
    return value
