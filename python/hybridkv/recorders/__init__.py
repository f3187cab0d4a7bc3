"""Recorders of running caches: what happens in an engine's cache as JSON Lines, for `hybridkv audit` (docs/audit.md).

A module of this package belongs to one engine and patches it; this one writes the lines, and knows no engine. It needs
nothing but Python.
"""

import json
import threading
import zlib


class Recording:
    """A recording that is being written: the tables of requests go in as they are after each step, and what changed
    since the step before comes out as events.

    header: the first line, without its version
    sample: the share of requests that are recorded, chosen by their names; None: all
    """

    def __init__(self, path, header, sample=None):
        self._file = open(path, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._share = sample
        self._groups = header["groups"]
        self._nulls = [header["arenas"][group.get("arena", 0)].get("null_block", 0) for group in self._groups]
        self._numbers = {}  # of the requests that have come in and not ended, by their names
        self._next = 0
        self._keys = {}     # how many are recorded of each
        self._tables = {}   # (group, columns) as recorded, of those that have blocks
        self._steps = 0
        if sample is not None:
            header = {**header, "sampled": True}
        self._write({"hybridkv_recording": 1, **header})

    def close(self):
        """Brings the last lines to the disk. Nothing is recorded any more."""
        with self._lock:
            if not self._file.closed:
                self._file.close()

    def _write(self, line):
        with self._lock:
            if not self._file.closed:
                self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def event(self, event, /, **fields):
        """Writes an event as it is."""
        self._write({"event": event, **fields})

    def takes(self, request):
        """Is the request of that name one of the sample?"""
        return self._share is None or zlib.crc32(str(request).encode()) < self._share * 2**32

    def number(self, request):
        """The number of a request that has come in; None: it has not, or is not recorded."""
        return self._numbers.get(request)

    def step(self):
        """A step begins."""
        self._steps += 1
        self.event("step", step=self._steps)

    def come(self, request, prompt_tokens, keys):
        """A request comes in, with the keys that are known of it; does nothing where it has before."""
        if request in self._numbers or not self.takes(request):
            return
        self._numbers[request] = self._next
        self._next += 1
        self._keys[request] = len(keys)
        self.event("request", request=self._numbers[request], name=str(request), prompt_tokens=prompt_tokens,
                   keys=list(keys))

    def know(self, request, keys):
        """All keys that are known of a request by now."""
        known = self._keys.get(request)
        if known is not None and len(keys) > known:
            self.event("keys", request=self._numbers[request], keys=list(keys[known:]))
            self._keys[request] = len(keys)

    def has_blocks(self, request):
        """Is it running, or was it when its tables were recorded last?"""
        return request in self._tables

    def let_go(self, request, tables):
        """What left its tables since they were recorded. Comes for all requests of a step before `table` for any: a
        block may go from one to another."""
        for group, (before, after) in enumerate(zip(self._tables.get(request, ()), tables)):
            if before == after:
                continue
            stays = set(after) if self._groups[group]["kind"] == "state" else ()
            gone = [block for column, block in enumerate(before)
                    if block != self._nulls[group] and (column >= len(after) or after[column] != block)
                    and block not in stays]
            if gone:
                self.event("free", request=self._numbers[request], group=group, blocks=gone)

    def table(self, request, tables, found=()):
        """The tables of a request after a step. found: (group) blocks that it found with their content."""
        number = self._numbers.get(request)
        if number is None:
            return
        recorded = self._tables.setdefault(request, [[] for _ in self._groups])
        for group, after in enumerate(tables):
            before = recorded[group]
            if before == after:
                continue
            known = set(before) if self._groups[group]["kind"] == "state" else ()
            of_found = found[group] if found else ()
            runs = []  # [how, first column, blocks]
            for column, block in enumerate(after):
                if column < len(before) and before[column] == block:
                    continue
                how = "move" if block == self._nulls[group] or block in known else \
                    "find" if block in of_found else "take"
                if runs and runs[-1][0] == how and runs[-1][1] + len(runs[-1][2]) == column:
                    runs[-1][2].append(block)
                else:
                    runs.append([how, column, [block]])
            for how, first, blocks in runs:
                self.event(how, request=number, group=group, first=first, blocks=blocks)
            recorded[group] = list(after)

    def preempt(self, request):
        """It gives back everything, and waits."""
        if self._tables.pop(request, None) is not None:
            self.event("preempt", request=self._numbers[request])

    def end(self, request):
        """It ends and gives back everything."""
        number = self._numbers.pop(request, None)
        self._tables.pop(request, None)
        self._keys.pop(request, None)
        if number is not None:
            self.event("end", request=number)
