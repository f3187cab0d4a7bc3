"""Sweeps: every combination of values, here or on whatever executes."""

import json

from . import _native
from ._arguments import flag, refused, shown, whole
from ._ask import explained, progress_of, tell
from ._record import Record, Records


class SweepRow(Record):
    """One point: what became of it, its values, and the numbers of its plan."""
    __slots__ = ()


class Sweep(Records):
    """The points of a sweep in the order of the grid."""

    __slots__ = ()


def _rows(scenario, keys, verify, simulate, begin, end, threads):
    """A shard; a function of the module, so that other processes find it."""
    with explained(scenario, keys):
        return _native.sweep_rows(scenario, keys, verify, simulate, begin, end, threads, None)


def _portable(value):
    """Plain values in place of what other processes may have no class for."""
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_portable(item) for item in value]
    if hasattr(value, "to_dict"):
        return _portable(value.to_dict())
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _shards(points, shards):
    size = -(-points // max(1, min(shards, points)))
    return [(begin, min(begin + size, points)) for begin in range(0, points, size)]


def sweep(scenario=None, /, *, verify=False, simulate=False, executor=None, shards=None, progress=None, **keys):
    """Every combination of the values of lists and ranges, as rows in the order of the grid.

    executor: any of concurrent.futures' kind; the grid goes to it in `shards` parts (default 16), each of which runs on
              one core of wherever it lands
    """
    verify, simulate = flag("verify", verify), flag("simulate", simulate)
    shards = 16 if shards is None else whole("shards", shards, 1)
    if executor is not None and not hasattr(executor, "submit"):
        raise refused("executor", executor, f"{shown(executor)} executes nothing", "give one of concurrent.futures")
    with explained(scenario, keys):
        size = _native.sweep_size(scenario, keys)
    tell(size.notes)
    with progress_of(progress) as watch:
        if executor is None:
            with explained(scenario, keys):
                texts = [_native.sweep_rows(scenario, keys, verify, simulate, 0, size.points, 0, watch)]
        else:
            texts = _spread(executor, _portable(scenario), _portable(keys), verify, simulate,
                            _shards(size.points, shards), watch)
    return Sweep([SweepRow(json.loads(line)) for text in texts for line in text.splitlines()])


def _spread(executor, scenario, keys, verify, simulate, shards, watch):
    futures = [executor.submit(_rows, scenario, keys, verify, simulate, begin, end, 1) for begin, end in shards]
    texts = []
    try:
        for future, (_, end) in zip(futures, shards):
            texts.append(future.result())
            if watch is not None:
                watch("points", end, shards[-1][1])
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return texts
