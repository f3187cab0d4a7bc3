"""Runs a kernel in layout after layout and draws up its card."""

import collections
import platform

from .. import _native
from .._arguments import is_list, refused, shown
from .._plan import Plan
from ._assumptions import Explanation, derived
from ._card import SCHEMA, Card
from ._cache_views import whose
from ._kernel_case import Case
from ._kernel_layouts import KernelLayout, far_layouts, probes
from ._lazy_memory import NoRoom
from ._triton_trace import TritonTrace

_LAYOUTS = "give 'all', 'probes', 'named', a plan, or what kernel_layouts() has"
_BESIDE = "beside"
_NAMES = {_BESIDE: "what no view has: padding, other layers, what lies around"}


class Examination:
    """One kernel under one problem. `call` gives its result for (views, inputs, optional inputs)."""

    def __init__(self, problem, call, arrays, kernel):
        self.problem, self.call, self.arrays, self.kernel = problem, call, arrays, kernel
        self.trace = TritonTrace()
        self.calls, self.rows, self.cases, self.leaks = 0, [], [], []
        self.home, self.explained = None, None

    def card(self, layouts):
        homes = self.problem.homes()
        self._find_home(homes)
        if self.home is not None:
            self._find_leaks()
            for layout in self._chosen(layouts):
                self._try(layout)
        cases = [case for _, case in self.cases]
        if self.home is None:
            self.explained = self._of_dense(homes)
        else:
            self.explained = Explanation(self.problem, [self.home], cases)
        for number, (row, _) in enumerate(self.cases):
            if row["result"] == "wrong" and number in self.explained.of_case:
                row["why"] = [each.text for each in self.explained.of_case[number]]
        return Card(self._data())

    # ------------------------------------------------------------------------------------------------- running

    def _run(self, layout, poison=()):
        """(row of the card, the case or None)."""
        row = {"name": layout.name, "kind": layout.kind, "result": "right", "what": "", "why": []}
        if layout.kind == "far" and not self.arrays.far:
            return {**row, "result": "not_run", "what": "the memory of a device is not reserved lazily"}, None
        try:
            case = Case(self.problem, layout, self.arrays, poison)
        except NoRoom as error:
            return {**row, "result": "not_run", "what": str(error)}, None
        self.calls += 1
        try:
            with self.trace.recording():
                case.run(self.call)
        except Exception as error:  # a kernel may raise what it likes
            return {**row, "result": "refused", "what": _said(error)}, None
        case.memory.release()
        if hasattr(self.problem, "learn") and layout.kind == "dense":
            self.problem.learn(case)
        if not case.matches(case.true_views()):
            row.update(result="wrong", what=case.what_is_wrong())
        elif not poison:
            self.trace.attribute(case)
        return row, case

    def _find_home(self, homes):
        for home in homes:
            row, case = self._run(home)
            row["name"] = f"dense {row['name']}"
            if row["result"] == "right":
                self.rows, self.cases, self.home = [row], [(row, case)], home
                return
            self.rows.append(row)
            if case is not None:
                self.cases.append((row, case))

    def _of_dense(self, homes):
        """Why no dense layout is right: what explains all of them, else the first that anything explains."""
        together = Explanation(self.problem, homes, [case for _, case in self.cases])
        for number, (_, case) in enumerate(() if together.complete else self.cases):
            alone = Explanation(self.problem, homes, [case])
            if alone.why:
                alone.of_case = {number: alone.why}
                return alone
        return together

    def _poisons(self):
        return () if self.problem.check in ("write", "slots") else (*self.problem.regions(self.home), _BESIDE)

    def _find_leaks(self):
        """What is right while everything is a number, and is not where this is NaN."""
        every = self._poisons()
        if not every or self._run(self.home, every)[0]["result"] == "right":
            return
        self.leaks = [name for name in every if self._run(self.home, (name,))[0]["result"] != "right"]

    def _try(self, layout):
        row, case = self._run(layout)
        poison = tuple(name for name in self._poisons() if name not in self.leaks)
        if row["result"] == "right" and poison:
            poisoned = self._run(layout, poison)[0]
            if poisoned["result"] != "right":
                row.update(result="wrong", what="right while everything is a number; NaN in what the batch does not "
                           f"address: {poisoned['what']}")
                case = None
        self.rows.append(row)
        if case is not None:
            self.cases.append((row, case))

    def _chosen(self, layouts):
        every = {"probes": lambda: probes(self.home) + far_layouts(self.home), "named": self.problem.named}
        if isinstance(layouts, str) and layouts in ("all", *every):
            return [each for name in every if layouts in ("all", name) for each in every[name]()]
        found, known = [], None
        for each in layouts if is_list(layouts) and not isinstance(layouts, Plan) else [layouts]:
            if isinstance(each, KernelLayout):
                found += [each] if each.kind != "dense" else []
            elif isinstance(each, str):
                known = known or {layout.name: layout for name in every for layout in every[name]()}
                if each not in known:
                    raise refused("layouts", each, f"{shown(each)} is none", _LAYOUTS)
                found.append(known[each])
            elif isinstance(each, Plan):
                found += self.problem.of_plan(each)
            else:
                raise refused("layouts", each, f"{shown(each)} is none", _LAYOUTS)
        return found

    # ---------------------------------------------------------------------------------------------- the card

    def _data(self):
        counts = collections.Counter(row["result"] for row in self.rows)
        why = self.explained.why
        problem = self.problem
        passed = self.home is not None and not counts["wrong"] and not self.leaks
        groups = [self._group(group) for group in problem.homes()[0].groups]
        read = self.trace.over_reads()
        over_reads = [{"what": _NAMES.get(name, name), "masked": False, "elements": read.pop(name, None)}
                      for name in self.leaks]
        over_reads += [{"what": name, "masked": True, "elements": count} for name, count in read.items()]
        data = {
            "schema": SCHEMA, "kernel": self.kernel, "check": problem.check,
            "family": getattr(problem, "family", None), "phase": getattr(problem, "phase", None), "passed": passed,
            "answer": self._answer(groups, counts, passed), "home": self.home.name if self.home else None,
            "groups": groups, "stale_safe": self._stale_safe(why), "over_reads": over_reads, "layouts": self.rows,
            "why": [each.text for each in why], "ran": {
                "arrays": self.arrays.name, "device": self.arrays.device(),
                "interpreter": self.trace.used, "traced": self.trace.used,
                "versions": {"hybridkv": _native.version, "python": platform.python_version(),
                             **self.arrays.versions()},
                "sizes": {**{axis: extent for axis, extent in zip(problem.homes()[0].groups[0].axes,
                                                                   problem.homes()[0].groups[0].shape)}},
                "dtype": problem.element.name,
                "layouts": {result: counts[result] for result in ("right", "wrong", "refused", "not_run")},
                "calls": self.calls}}
        return data

    def _stale_safe(self, why):
        if self.problem.check != "attention":
            return None
        if any(each.quirk in ("stale", "row") for each in why):
            return False
        return None if self.home is None else not any(name.startswith("stale") for name in self.leaks)

    def _group(self, group):
        facts = {"group": group.name, "axes": list(group.axes), "takes": [], "derives": [], "refuses": [],
                 "unknown": [], "offset_bits": []}
        results = {row["name"]: row["result"] for row in self.rows}
        why = self.explained.why
        for axis in group.axes:
            result = results.get(f"probe {group.name}.{axis}", "not_run")
            assumed = [self._derived(group, axis, each) for each in why if each.group == group.name
                       and axis in each.axes and each.rule in ("extents", "next", "stride_of")]
            assumed += [_derived_by(axis, rule, extents) for each in why for name, needed, rule, extents in each.needs
                        if (name, needed) == (group.name, axis)]
            if assumed and result in ("wrong", "not_run"):
                facts["derives"].append(assumed[0])
            elif result == "wrong" and not self._explained_elsewhere(f"probe {group.name}.{axis}"):
                facts["derives"].append(_derived_by(axis, "unknown"))
            else:
                facts[{"right": "takes", "wrong": "takes", "refused": "refuses", "not_run": "unknown"}[result]].append(
                    axis)
            if f"far {group.name}.{axis}" in results or axis in ("block", "slot", "head"):
                facts["offset_bits"].append({"axis": axis, "bits": self._bits(group.name, axis, results)})
        return facts

    def _explained_elsewhere(self, name):
        """Whether a wrong probe follows from what is assumed of another stride, or of none."""
        return self.explained.complete and any(row["name"] == name and row["why"] for row in self.rows)

    def _bits(self, group, axis, results):
        result = results.get(f"far {group}.{axis}", "not_run")
        if any(each.rule == "wrap" and each.group == group and axis in each.axes for each in self.explained.why):
            return 32
        return 64 if result == "right" else None

    def _derived(self, group, axis, assumed):
        if assumed.rule != "extents" or len(assumed.axes) == 1:
            return _derived_by(axis, assumed.rule, assumed.extents, assumed.factor, assumed.stride_of)
        number = group.axes.index(axis)
        _, nearer, factors, _ = derived(self.home, group.name, group.shape)
        return _derived_by(axis, "extents", [group.axes[each] for each in nearer[number]], factors[number])

    def _answer(self, groups, counts, passed):
        if self.home is None:
            result = self.rows[0]
            return f"the dense layout is {result['result']} already, so nothing is said of others: {result['what']}"
        computed, lost = ([f"{whose(group['group'])} {each['axis']}" for group in groups for each in group["derives"]
                          if (each["rule"] == "unknown") == unknown] for unknown in (False, True))
        parts = []
        if computed:
            parts.append(f"derives the stride of {', '.join(computed)}")
        if lost:
            parts.append(f"does not survive another stride of {', '.join(lost)}")
        narrow = [f"{whose(group['group'])} {each['axis']}" for group in groups for each in group["offset_bits"]
                  if each["bits"] == 32]
        if narrow:
            parts.append(f"computes the offset of {', '.join(narrow)} in 32 bits")
        if self.leaks:
            parts.append(f"lets NaN of {', '.join(_NAMES.get(name, name) for name in self.leaks)} into its result")
        if counts["wrong"]:
            parts.append(f"silently wrong in {counts['wrong']} of {len(self.rows)} layouts")
        if passed:
            taken = all(len(group["takes"]) == len(group["axes"]) for group in groups)
            parts.append("takes every stride" if taken else "right wherever it runs")
            parts.append(f"{counts['right']} of {len(self.rows)} layouts right")
            if counts["refused"]:
                parts.append(f"{counts['refused']} refused")
        return "; ".join(parts)


def _derived_by(axis, rule, extents=(), factor=1, stride_of=None):
    return {"axis": axis, "rule": rule, "extents": list(extents), "factor": factor, "stride_of": stride_of}


def _said(error):
    text = str(error).strip().split("\n", 1)[0][:160]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
