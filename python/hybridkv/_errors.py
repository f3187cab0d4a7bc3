"""Exceptions. What users caused is an InputError; everything else says what the machine lacks."""

import re

# "engine.tensor_parallel: 0 is too small; allowed: whole numbers from 1": the key, then what is wrong, then the way out.
_FIELD = re.compile(r"^([a-z_]\w*(?:\[\d+\])?(?:\.[a-z_]\w*(?:\[\d+\])?)*): ")


class HybridkvError(Exception):
    """Anything that a question can run into."""


class InputError(HybridkvError, ValueError):
    """An unusable value. What is known of it stands in the attributes; what is not is None.

    field:  key of the scenario, "engine.tensor_parallel"
    value:  as it was given
    place:  where it stands, "my.yaml:4:20" or "tensor_parallel=0"
    remedy: what would do, "allowed: whole numbers from 1"
    """

    def __init__(self, message, place="", problem=""):
        super().__init__(message)
        self.place = place or None
        self.value = None
        problem = problem or message.split("\n", 1)[0]
        found = _FIELD.match(problem)
        self.field = found.group(1) if found else (place if problem and place.isidentifier() else None)
        rest = problem[found.end():] if found else problem
        _, separator, remedy = rest.partition("; ")
        self.remedy = remedy if separator else None

    def __reduce__(self):
        # As pools of processes send it: with what was found out of it.
        return _restored, (str(self), dict(self.__dict__))


def _restored(message, known):
    error = InputError(message)
    error.__dict__.update(known)
    return error


class ResourceError(HybridkvError, MemoryError):
    """Not enough memory or disk, or the system refuses."""


class ProgramError(HybridkvError, RuntimeError):
    """A program that is needed is missing or failed."""
