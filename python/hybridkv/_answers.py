"""The other questions: what is asked of traces and of several settings, and published configs."""

import json
import os
import re

from . import _native
from ._arguments import flag, listed, mapping, path, refused, shown, word
from ._ask import ask, decoded, explained, progress_of, tell
from ._errors import InputError
from ._record import Record


class Simulation(Record):
    """What a trace found in a cache; `records` has every request of the first cache."""
    __slots__ = ("_records",)

    def __init__(self, fields, records=None):
        super().__init__(fields)
        object.__setattr__(self, "_records", records)

    @property
    def records(self):
        """A NumPy array of records over the replay's own memory. `status` is a number: statuses[number]."""
        if self._records is None:
            raise InputError("records: were not kept; ask for them with records=True")
        import numpy as np
        names, formats, offsets = zip(*self._records.record_fields())
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets,
                          "itemsize": self._records.record_size()})
        return self._records.record_bytes().view(dtype)

    statuses = tuple(_native.request_statuses())

    def __reduce__(self):
        return type(self), (self._fields,)


class Fleet(Record):
    """What replicas found of a trace: `routers` has a row for each, `caches` what one store would find and the bound."""
    __slots__ = ()


class Bound(Record):
    """How much of a trace any policy could find: a row of `layouts` each."""
    __slots__ = ()


class Comparison(Record):
    """Settings side by side: `settings`, and `rows` with the rules that make a difference."""
    __slots__ = ()

    def differences(self):
        """The rows that differ."""
        return [row for row in self.rows if row.differs]

    def to_pandas(self):
        """A row per number, a column per setting."""
        from ._record import _pandas
        names = [setting["name"] for setting in self._fields["settings"]]
        return _pandas().DataFrame([row["values"] for row in self._fields["rows"]], columns=names,
                                   index=[row["name"] for row in self._fields["rows"]])


class ImportedModel:
    """A published config as a model file."""

    __slots__ = ("name", "yaml", "notes")

    def __init__(self, name, yaml, notes):
        self.name, self.yaml, self.notes = name, yaml, notes

    def __repr__(self):
        return f"ImportedModel({self.name!r}, {self.yaml.count(chr(10))} lines)"

    def save(self, path):
        """Writes the model file, which model= takes."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.yaml)


def bound(scenario=None, /, *, progress=None, **keys):
    """How much of a trace any policy could find in this memory. Lists make a row each, at most eight."""
    return Bound(decoded(ask(_native.bound, scenario, keys, progress=progress)))


_REQUEST = ("timestamp", "input_length", "output_length", "hash_ids")
_NAMES = {"timestamp": ("timestamp", "arrival"), "input_length": ("input_length",),
          "output_length": ("output_length",), "hash_ids": ("hash_ids",)}


def _field(request, name):
    for called in _NAMES[name]:
        value = request.get(called) if isinstance(request, dict) else getattr(request, called, None)
        if value is not None:
            return value
    return None


def _trace_line(index, request):
    try:
        return _line_of(request)
    except (TypeError, ValueError, OverflowError) as error:
        place = f"requests[{index}]"
        raise refused(place, request, f"{shown(request)} cannot be a request: {error}",
                      "give a mapping or a tuple of numbers", place) from None


def _line_of(request):
    """A request as a line of a trace: a mapping in any of the forms that files have, (arrival, input_length,
    output_length, hash_ids), or an object with these attributes. Arrivals are milliseconds, as in files."""
    if isinstance(request, dict) and "arrival" not in request:
        return json.dumps(request, default=_number)
    if isinstance(request, (tuple, list)):
        request = dict(zip(_REQUEST, request))
    line = {name: _field(request, name) for name in _REQUEST}
    return json.dumps({name: value for name, value in line.items() if value is not None}, default=_number)


def _number(value):
    return value.tolist() if hasattr(value, "tolist") else int(value)


def simulate(scenario=None, /, requests=None, *, records=True, policy=None, progress=None, **keys):
    """Replays requests through the planned cache.

    requests: any iterable (see docs/python.md); without it the scenario's trace, or trace="file.jsonl"
    records:  keep what became of every request, Simulation.records
    policy:   what decides in place of the engine's which prefix goes and of which states are kept: a class with
              rank(prefix), or the file of a compiled one (docs/research.md)
    """
    def replayed(keys):
        made = ask(_native.simulate, scenario, keys, kept, _policy(policy), progress=progress)
        return Simulation(decoded(made.answer), made if kept else None)
    kept = flag("records", records, True)
    return _of_requests(requests, keys, replayed)


def fleet(scenario=None, /, requests=None, *, policy=None, progress=None, **keys):
    """Replays requests through replicas behind a router, one or a list: replicas=4, router=["precise", "states"].

    requests, policy: as of simulate
    """
    return _of_requests(requests, keys, lambda keys: Fleet(decoded(
        ask(_native.fleet, scenario, keys, _policy(policy), progress=progress))))


def _of_requests(requests, keys, replayed):
    """What `replayed` makes of the keywords, which name the requests where these are given."""
    if requests is None:
        return replayed(keys)
    if keys.get("trace") is not None:
        raise InputError("trace: requests are given already; give one of the two")
    try:  # an array of no dimension has the method of an iterable, and is none
        listed = None if isinstance(requests, (str, bytes)) else iter(requests)
    except TypeError:
        listed = None
    if listed is None:
        raise refused("requests", requests, f"{shown(requests)} is no list of requests", "give an iterable of them")
    import tempfile
    file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", prefix="hybridkv-", delete=False, encoding="utf-8")
    try:
        with file:
            for index, request in enumerate(listed):
                file.write(_trace_line(index, request) + "\n")
        made = replayed({**keys, "trace": {"file": file.name}})
    except InputError as error:
        raise _about_request(error, file.name) from None
    finally:
        os.unlink(file.name)
    fields = made._fields
    fields["trace"] = fields["trace"].replace(os.path.basename(file.name), "requests given in Python")
    return made


def _about_request(error, file):
    """An error about a line of the file that the requests went through, about the request."""
    if file not in f"{error}{error.place}":
        return error

    def said(text):
        text = re.sub(re.escape(file) + r":(\d+)", lambda line: f"requests[{int(line.group(1)) - 1}]", text)
        return text.replace(file, "requests").replace("--skip-bad-lines", "skip_bad_lines=True")

    renamed = InputError(said(str(error)), said(error.place or ""))
    renamed.field, renamed.value = "requests", error.value
    return renamed


def _policy(policy):
    return os.fspath(policy) if isinstance(policy, os.PathLike) else policy


def compare(scenario=None, /, *scenarios, vary=None, replay=False, kernels=(), progress=None, **keys):
    """Puts two to eight settings side by side. Several scenarios, lists among the keywords, and `vary`, a mapping of
    keywords to lists, make settings; `replay` runs the trace through each. `kernels`: files of kernels' cards
    (hybridkv.testing); `settings[...].kernels` says what a setting does to each."""
    vary, replay, cards = mapping("vary", vary), flag("replay", replay), listed("kernels", kernels, path)
    with explained(scenario, {**keys, **vary}), progress_of(progress) as watch:
        answer = _native.compare([scenario, *scenarios], keys, vary, replay, cards, watch)
    return Comparison(decoded(answer))


def import_config(config, /, *, name="", dtype=""):
    """A published config as a model file: a path, a mapping, or a config of transformers."""
    if config is None:
        raise refused("config", config, "None is no config", "give a path, a mapping, or a config of transformers")
    name, dtype = ("" if text is None else word(argument, text) for argument, text in (("name", name), ("dtype", dtype)))
    made = ImportedModel(*_native.import_config(config, name, dtype))
    tell(made.notes)
    return made
