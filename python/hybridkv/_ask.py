"""Calls into the native module: what every question has in common."""

import atexit
import contextlib
import json
import warnings

from . import _native
from ._arguments import place_of, refused
from ._errors import InputError

atexit.register(_native.join_abandoned)


class AssumptionWarning(UserWarning):
    """Something was assumed of the model, or left unused of its config."""


def tell(notes):
    for note in notes:
        warnings.warn(note, AssumptionWarning, stacklevel=4)


def _value_of(field, scenario, keys):
    """What was given under a key of a scenario; None where it stands in a file."""
    for keyword, value in keys.items():
        if keyword == field:
            return value
        with contextlib.suppress(InputError):
            key = "engine.release" if keyword == "engine" and not isinstance(value, dict) else (
                _native.key_of_keyword(keyword))
            if key == field:
                return value
    value = scenario if isinstance(scenario, dict) else None
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _refuse_misspelled(keys, arguments):
    """A keyword that is no key may have meant an argument, which the native module knows nothing of."""
    for name, value in keys.items():
        try:
            _native.key_of_keyword(name)
        except InputError:
            import difflib
            meant = difflib.get_close_matches(name, arguments, 1)
            if meant:
                raise refused(name, value, "neither a key of a scenario nor an argument is called so",
                              f"did you mean '{meant[0]}'?") from None


@contextlib.contextmanager
def explained(scenario, keys, arguments=None):
    """Adds to an InputError the value that it is about. `arguments`: those of the call that are no keys, whose place is
    theirs."""
    arguments = arguments or {}
    _refuse_misspelled(keys, arguments)
    try:
        yield
    except InputError as error:
        if error.field in arguments:
            error.value = arguments[error.field] if error.value is None else error.value
            if error.place in (None, error.field):
                error.place = place_of(error.field, arguments[error.field])
        elif error.field and error.value is None:
            error.value = _value_of(error.field, scenario, keys)
        raise


class _Bar:
    """tqdm, or nothing where it is not installed."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._bar = tqdm(total=None, leave=False) if tqdm else None

    def __call__(self, what, done, total):
        if self._bar is None:
            return
        self._bar.set_description(what, refresh=False)
        self._bar.total = total or None
        self._bar.n = done
        self._bar.refresh()

    def close(self):
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def progress_of(progress):
    """None, True for a bar, or what takes (what, done, total) as the native module wants it."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()
    elif callable(progress):
        yield progress
    else:
        raise TypeError("progress is True, False, or a function of (what, done, total)")


def ask(question, scenario, keys, *wishes, progress=None, arguments=None):
    """The answer of a native question. `arguments`: by name what `wishes` were made of."""
    with explained(scenario, keys, arguments), progress_of(progress) as watch:
        return question(scenario, keys, *wishes, watch)


def decoded(answer):
    tell(answer.notes)
    return json.loads(answer.json)
