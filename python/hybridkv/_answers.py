"""The other questions: what is asked of traces, of several settings, and between two deployments."""

import json
import os
import tempfile

from . import _native
from ._ask import ask, decoded, explained, progress_of, tell
from ._errors import InputError
from ._record import Record


class Verification(Record):
    """What verify found: `runs`, one per plan and planted fault, each with its `checks`."""
    __slots__ = ()
    _first = ("model", "rules", "passed")

    @property
    def passed(self):
        """Did every check of every run pass?"""
        return all(run["passed"] for run in self._fields["runs"])

    def __repr__(self):
        return f"Verification({self.model}, {len(self._fields['runs'])} runs, passed={self.passed})"


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


class Bound(Record):
    """How much of a trace any policy could find: a row of `layouts` each."""
    __slots__ = ()


class Recommendation(Record):
    """The pick, why it is the pick, and every candidate."""
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


class Transfer(Record):
    """What moves one request from one deployment to another."""
    __slots__ = ()
    _first = ("model", "tokens", "totals")


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


def verify(scenario=None, /, *, inject=(), progress=None, **keys):
    """Allocates the pools of a plan, runs traffic through every view, and checks every address and every result.

    inject: names of faults to plant, each of which must be caught; ("all",) for every one
    """
    inject = [inject] if isinstance(inject, str) else list(inject)
    return Verification(decoded(ask(_native.verify, scenario, keys, inject, progress=progress)))


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


def _trace_line(request):
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


def simulate(scenario=None, /, requests=None, *, records=True, progress=None, **keys):
    """Replays requests through the planned cache.

    requests: any iterable (see docs/python.md); without it the scenario's trace, or trace="file.jsonl"
    records:  keep what became of every request, Simulation.records
    """
    if requests is None:
        return _simulated(scenario, records, progress, keys)
    if "trace" in keys:
        raise InputError("trace: requests are given already; give one of the two")
    file = tempfile.NamedTemporaryFile("w", suffix=".jsonl", prefix="hybridkv-", delete=False, encoding="utf-8")
    try:
        with file:
            for request in requests:
                file.write(_trace_line(request) + "\n")
        made = _simulated(scenario, records, progress, {**keys, "trace": {"file": file.name}})
    finally:
        os.unlink(file.name)
    fields = made._fields
    fields["trace"] = fields["trace"].replace(os.path.basename(file.name), "requests given in Python")
    return made


def _simulated(scenario, records, progress, keys):
    made = ask(_native.simulate, scenario, keys, records, progress=progress)
    return Simulation(decoded(made.answer), made if records else None)


def recommend(scenario=None, /, *, at_length=None, min_concurrency=None, give_up_percent=None, packs=(),
              block_sizes=(), kernel_blocks=(), min_kernel_block=None, modes=(), match_units=(), retentions=(),
              search=None, strategies=(), ratios=(), page_sizes=(), track_intervals=(), progress=None, **keys):
    """Searches settings for a workload. Lists say what is searched; what is not said is up to the search.

    block_sizes: 0 stands for none asked for    match_units: 0 stands for the block
    retentions:  None keeps every checkpoint, 0 the last one
    """
    wishes = _native.RecommendWishes()
    for name, value in (("at_length", at_length), ("min_concurrency", min_concurrency),
                        ("give_up_percent", give_up_percent), ("min_kernel_block", min_kernel_block),
                        ("search", search)):
        if value is not None:
            setattr(wishes, name, value)
    for name, values in (("packs", packs), ("block_sizes", block_sizes), ("kernel_blocks", kernel_blocks),
                         ("modes", modes), ("match_units", match_units), ("strategies", strategies),
                         ("ratios", ratios), ("page_sizes", page_sizes), ("track_intervals", track_intervals)):
        setattr(wishes, name, list(values))
    wishes.keeps_all_checkpoints = None in retentions
    wishes.retentions = [tokens for tokens in retentions if tokens is not None]
    return Recommendation(decoded(ask(_native.recommend, scenario, keys, wishes, progress=progress)))


def compare(scenario=None, /, *scenarios, vary=None, replay=False, progress=None, **keys):
    """Puts two to eight settings side by side. Several scenarios, lists among the keywords, and `vary`, a mapping of
    keywords to lists, make settings; `replay` runs the trace through each."""
    vary = dict(vary or {})
    with explained(scenario, {**keys, **vary}), progress_of(progress) as watch:
        answer = _native.compare([scenario, *scenarios], keys, vary, replay, watch)
    return Comparison(decoded(answer))


def transfer(scenario=None, /, to=None, *, to_keys=None, tokens=None, present_tokens=0, ids="scattered",
             as_prefix=False, convert=(), verify=False, inject=(), progress=None, **keys):
    """The copies that move one request from `scenario` to `to`, or to the same with `to_keys` laid over it.

    verify: move it between real pools and check what arrives; inject: faults to plant
    """
    wishes = _native.TransferWishes()
    wishes.tokens, wishes.present_tokens, wishes.ids = tokens, present_tokens, ids
    wishes.as_prefix, wishes.verify = as_prefix, verify or bool(inject)
    wishes.convert = [convert] if isinstance(convert, str) else list(convert)
    wishes.inject = [inject] if isinstance(inject, str) else list(inject)
    to_keys = dict(to_keys or {})
    with explained(scenario, {**keys, **to_keys}), progress_of(progress) as watch:
        answer = _native.transfer(scenario, to, keys, to_keys, wishes, watch)
    return Transfer(decoded(answer))


def import_config(config, /, *, name="", dtype=""):
    """A published config as a model file: a path, a mapping, or a config of transformers."""
    made = ImportedModel(*_native.import_config(config, name, dtype))
    tell(made.notes)
    return made
