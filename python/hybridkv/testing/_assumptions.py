"""What a kernel may assume of addresses instead of taking them from its arguments, and the fewest such assumptions that
give every wrong result exactly."""

import dataclasses
import itertools

from ._cache_views import Addresses, dense_strides, whose
from ._kernel_layouts import FAR_AXES

_MOST = 5  # assumptions together
_POOL = 16  # of which they are chosen


@dataclasses.dataclass(frozen=True)
class Assumption:
    """One sentence about a kernel, and what follows from it.

    group, axes: of whose strides it is; empty: of none
    rule:        extents (product of extents), next (extent and stride of the next axis), stride_of (another group's),
                 base (where the view begins), wrap (32 bits), quirk (no address)
    extents, factor, stride_of: as in the card
    needs:       (group, axis, rule, extents) of strides without which a quirk shows
    change:      (layout, addresses of each group so far) -> {group: fields of them that become others}
    """
    text: str
    group: str = ""
    axes: tuple = ()
    rule: str = "quirk"
    extents: tuple = ()
    factor: int = 1
    stride_of: str = None
    quirk: str = ""
    needs: tuple = ()
    change: object = dataclasses.field(default=None, compare=False)


def derived(home, group, shape):
    """What the strides of a view of this shape are where they are computed as in a dense layout: (strides; for each
    axis the axes whose extents are multiplied; the factor of each, 2 where K and V lie side by side; axes, farthest
    first)."""
    dense = home.group(group)
    order = sorted(range(len(shape)), key=lambda axis: -dense.strides[axis])
    factors = [stride // alone for stride, alone in zip(dense.strides, dense_strides(dense.shape, order))]
    strides = [factor * stride for factor, stride in zip(factors, dense_strides(shape, order))]
    nearer = {axis: tuple(sorted(order[number + 1:])) for number, axis in enumerate(order)}
    return tuple(strides), nearer, factors, order


def assumptions_of(problem, homes):
    """All that are tried, the likeliest first."""
    found = []
    for home in homes:
        for group in home.groups:
            found += _of_strides(home, group)
        if len(home.groups) > 1:
            found += _of_pairs(home)
    for group in homes[0].groups:
        found += _of_products(group)
    found += [Assumption(text, quirk=quirk, needs=needs) for quirk, (text, needs) in problem.quirks().items()]
    unique = {}
    for assumption in found:
        unique.setdefault(assumption.text, assumption)
    return list(unique.values())


def _of_strides(home, group):
    _, nearer, factors, order = derived(home, group.name, group.shape)
    found = []
    for axis, name in enumerate(group.axes):
        extents = tuple(group.axes[each] for each in nearer[axis])
        times = factors[axis]
        product = " * ".join(([str(times)] if times > 1 else []) + [f"extent of {each}" for each in extents]) or "1"
        found.append(Assumption(
            f"{whose(group.name)} stride of {name} is computed: {product}", group.name, (name,), "extents", extents,
            times,
            change=lambda layout, views, axis=axis: {
                group.name: {"strides": {axis: _strides(home, group, layout)[axis]}}}))
    for farther, near in zip(order, order[1:]):
        name, next_name = group.axes[farther], group.axes[near]
        found.append(Assumption(
            f"{whose(group.name)} stride of {name} is computed: extent of {next_name} * stride of {next_name}",
            group.name, (name,), "next", (next_name,),
            change=lambda layout, views, farther=farther, near=near: {group.name: {"strides": {
                farther: layout.group(group.name).shape[near] * layout.group(group.name).strides[near]}}}))
    inner = order[1:]
    found.append(Assumption(
        f"{whose(group.name)} strides within a {group.axes[order[0]]} are computed", group.name,
        tuple(group.axes[axis] for axis in sorted(inner)), "extents",
        change=lambda layout, views: {
            group.name: {"strides": {axis: _strides(home, group, layout)[axis] for axis in inner}}}))
    found.append(Assumption(
        f"{group.name} is taken for an array without gaps", group.name, group.axes, "extents",
        change=lambda layout, views: {group.name: {"strides": dict(enumerate(_strides(home, group, layout)))}}))
    found.append(Assumption(
        f"{group.name} is taken to begin at the front of the memory", group.name, (), "base",
        change=lambda layout, views: {group.name: {"offset": 0}}))
    return found


def _strides(home, group, layout):
    return derived(home, group.name, layout.group(group.name).shape)[0]


def _of_pairs(home):
    """What is assumed of V by K."""
    first, second = home.groups
    found = []
    for axis, name in enumerate(second.axes):
        found.append(Assumption(
            f"{whose(second.name)} stride of {name} is {whose(first.name)}", second.name, (name,), "stride_of",
            stride_of=first.name, change=lambda layout, views, axis=axis: {second.name: {
                "strides": {axis: views[first.name].strides[axis]}}}))
    found.append(Assumption(
        f"{whose(second.name)} strides are {whose(first.name)}", second.name, second.axes, "stride_of",
        stride_of=first.name,
        change=lambda layout, views: {second.name: {"strides": dict(enumerate(views[first.name].strides))}}))

    def behind(text, distance):
        found.append(Assumption(text, second.name, (), "base", change=lambda layout, views: {
            second.name: {"offset": layout.group(first.name).offset + distance(layout.group(first.name))}}))
        found.append(Assumption(f"{text}, with {whose(first.name)} strides", second.name, second.axes, "stride_of",
                                stride_of=first.name, change=lambda layout, views: {second.name: {
                                    "offset": layout.group(first.name).offset + distance(layout.group(first.name)),
                                    "strides": dict(enumerate(views[first.name].strides))}}))

    behind(f"{second.name} is taken to lie half a page behind {first.name}", lambda group: group.strides[0] // 2)
    behind(f"{second.name} is taken to lie behind all blocks of {first.name}",
           lambda group: group.strides[0] * group.shape[0])
    behind(f"{second.name} is taken to lie right behind {whose(first.name)} block",
           lambda group: group.shape[1] * group.shape[2] * group.shape[3])
    behind(f"{second.name} is taken to lie right behind {whose(first.name)} channels", lambda group: group.shape[3])
    return found


def _of_products(group):
    found = []
    for axis, name in enumerate(group.axes):
        if name in FAR_AXES:
            found.append(Assumption(
                f"{group.name}: {name} * stride is computed in 32 bits", group.name, (name,), "wrap",
                change=lambda layout, views, axis=axis: {group.name: {"wraps": {axis}}}))
    found.append(Assumption(f"{group.name}: the whole offset is computed in 32 bits", group.name,
                            tuple(name for name in group.axes if name in FAR_AXES), "wrap",
                            change=lambda layout, views: {group.name: {"wraps": {"all"}}}))
    return found


def applied(assumptions, layout):
    """(addresses of each group, quirks) under assumptions."""
    views = {group.name: group.addresses for group in layout.groups}
    # What one view has of another comes last: it is what is believed of that one.
    for assumption in sorted(assumptions, key=lambda each: each.rule == "stride_of"):
        if assumption.change:
            for name, fields in assumption.change(layout, views).items():
                was = views[name]
                strides = list(was.strides)
                for axis, stride in fields.get("strides", {}).items():
                    strides[axis] = stride
                views[name] = Addresses(tuple(strides), fields.get("offset", was.offset),
                                        was.wraps | frozenset(fields.get("wraps", ())))
    return views, {assumption.quirk for assumption in assumptions} - {""}


def _fit(assumptions):
    """Whether they can hold together: of one stride only one, of one base only one."""
    taken = set()
    for assumption in assumptions:
        kinds = {(assumption.group, "base")} if assumption.rule == "base" else {
            (assumption.group, assumption.rule == "wrap", axis) for axis in assumption.axes}
        if taken & kinds:
            return False
        taken |= kinds
    return True


class Explanation:
    """why: the fewest assumptions that give the result of every case, wrong and right; empty where there are none.
    of_case: for each case those of them that matter, else the fewest that give this one alone."""

    def __init__(self, problem, homes, cases):
        """cases: each with `layout` and `matches(views, quirks)`."""
        self._cases, self._known = cases, {}
        every = assumptions_of(problem, homes)
        self._wrong = [case for case in range(len(cases)) if not self._holds((), case)]
        self._right = [case for case in range(len(cases)) if case not in self._wrong]
        fitting = [each for each in every if self._all((each,), self._right)]
        useful = [each for each in fitting if any(self._holds((each,), case) for case in self._wrong)]
        self.why = self._fewest(useful, fitting) if self._wrong else ()
        self.of_case = {case: self._of(case, every) for case in self._wrong}
        self.complete = bool(self.why)
        if not self.why:
            self.why = self._cover()

    def _holds(self, assumptions, case):
        key = assumptions, case
        if key not in self._known:
            self._known[key] = self._cases[case].matches(*applied(assumptions, self._cases[case].layout))
        return self._known[key]

    def _all(self, assumptions, cases):
        return all(self._holds(assumptions, case) for case in cases)

    def _fewest(self, useful, fitting):
        def reach(each):
            return -sum(self._holds((each,), case) for case in self._wrong)

        useful = sorted(useful, key=reach)[:_POOL]
        for count in range(1, _MOST + 1):
            for chosen in itertools.combinations(useful, count):
                if _fit(chosen) and self._all(chosen, self._wrong) and self._all(chosen, self._right):
                    return chosen
        # What shows only together, each alone giving no result that was seen; where nothing is right, all would fit.
        for chosen in itertools.combinations(fitting, 2) if self._right else ():
            if _fit(chosen) and self._all(chosen, self._wrong) and self._all(chosen, self._right):
                return chosen
        return ()

    def _cover(self):
        """Of what explains single cases, as few as explain as many."""
        left, chosen = {case: found for case, found in self.of_case.items() if found}, []
        while left:
            every = dict.fromkeys(each for found in left.values() for each in found)
            chosen.append(max(every, key=lambda each: sum(self._holds((each,), case) for case in left)))
            left = {case: found for case, found in left.items() if not self._holds((chosen[-1],), case)
                    and chosen[-1] not in found}
        return tuple(chosen)

    def _of(self, case, every):
        for count in range(1, len(self.why) + 1):
            for chosen in itertools.combinations(self.why, count):
                if self._holds(chosen, case):
                    return chosen
        return next(((each,) for each in every if self._holds((each,), case)), ())
