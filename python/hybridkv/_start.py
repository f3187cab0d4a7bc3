"""Around the start of an engine: whether it will, what its log says, whether its cache is right, what is in a trace,
which models come along."""

import json
import os

from . import _native
from ._arguments import flag, listed, path, refused, shown, whole, word
from ._ask import ask, decoded, explained, progress_of
from ._errors import InputError
from ._record import Record, wrap


class Boot(Record):
    """Whether an engine starts: `result`, what fails first, the lines that it prints, and commands to try."""
    __slots__ = ()

    @property
    def boots(self):
        """True where it starts."""
        return self._fields["result"] == "boots"


class Diagnosis(Record):
    """What a log says, why, what is wrong with it, and what would do better: `explained`, `contradictions`, `reasons`."""
    __slots__ = ()


class Audit(Record):
    """Whether every byte that requests read was their own: `result`, `text`, what was checked, `findings`."""
    __slots__ = ()

    @property
    def is_right(self):
        """True where the recording proves nothing to be wrong."""
        return self._fields["result"] == "right"


class Trace(Record):
    """What is in a trace: lengths, what repeats and when it returns, sessions."""
    __slots__ = ()


_WORDS = ("gpu", "gpu_memory", "utilization", "weights", "beside", "available_memory")


def boot(scenario=None, /, *, gpu=None, gpu_memory=None, utilization=None, weights=None, beside=None,
         available_memory=None, max_num_seqs=None, enforce_eager=False, kernels=(), **keys):
    """Says whether an engine will start, what it prints, and what fails first.

    gpu:          a GPU by its name, "H100"; gpu_memory: of any other, "141GiB"; utilization: the share that may be
                  taken of it, 0.9
    weights, beside: bytes of one rank, measured; else counted from the model's parameters, and estimated
    available_memory: in place of a GPU the memory of the cache as the engine prints it, "40.00 GiB"
    kernels:      files of kernels' cards (hybridkv.testing): `kernels` of the answer says what the plan does to each
    """
    given = {"gpu": gpu, "gpu_memory": gpu_memory, "utilization": utilization, "weights": weights, "beside": beside,
             "available_memory": available_memory}
    words = _native.BootWords()
    for name, value in given.items():
        if value is not None:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            setattr(words, name, word(name, str(value) if is_number else value))
    if max_num_seqs is not None:
        words.max_num_seqs = whole("max_num_seqs", max_num_seqs, 1)
    words.enforce_eager = flag("enforce_eager", enforce_eager)
    cards = listed("kernels", kernels, path)
    return Boot(decoded(ask(_native.boot, scenario, keys, words, cards, arguments={**given, "kernels": kernels})))


def doctor(log, /, *, trace=None, progress=None, **keys):
    """Explains the log of an engine, or its page of metrics.

    log:   its path, plain or compressed
    trace: the file of the requests that the engine had, to be replayed under the settings of the log and under others
    keys:  what the log does not say: model=, tensor_parallel=, …; they win over it
    """
    paths = {"log": log, "trace": trace}
    for name, path in paths.items():
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise refused(name, path, f"{shown(path)} is no path", "give that of a file")
    with explained(None, keys, paths), progress_of(progress) as watch:
        answer = _native.doctor(os.fspath(log), keys, "" if trace is None else os.fspath(trace), watch)
    return Diagnosis(decoded(answer))


def audit(recording, /, *, progress=None):
    """Replays the recording of a cache that ran (docs/audit.md): is every byte that a request reads its own?

    recording: its path, plain or compressed; hybridkv.recorders makes them of engines, simulate --record of simulated
               runs
    """
    if not isinstance(recording, (str, os.PathLike)):
        raise refused("recording", recording, f"{shown(recording)} is no path", "give that of a file")
    with progress_of(progress) as watch:
        return Audit(decoded(_native.audit_recording(os.fspath(recording), watch)))


def trace(file=None, /, scenario=None, *, progress=None, **keys):
    """Says what is in a trace.

    file:     its path; without it the trace that the scenario and the keywords mean, else a made-up one
    scenario: with a model what repeats has distances in bytes too
    """
    if file is not None:
        if keys.get("trace") is not None:
            raise InputError("trace: the file is given already; give one of the two")
        if not isinstance(file, (str, os.PathLike)):
            raise refused("file", file, f"{shown(file)} is no path", "give that of a trace file")
        keys = {**keys, "trace": os.fspath(file)}
    planned = scenario is not None or keys.get("model") is not None
    return Trace(decoded(ask(_native.trace, scenario, keys, planned, progress=progress)))


def models(name="", /, *, family=""):
    """The models that come along, a record each; `name`: only those with this in theirs, `family`: only those with
    layers of it."""
    return wrap(json.loads(_native.models(word("name", name), word("family", family))))
