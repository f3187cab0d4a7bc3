"""Proofs: what a plan says, checked on real tensors."""

from . import _native
from ._arguments import flag, listed, refused, whole, word
from ._ask import ask, decoded
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


class ForwardVerification(Record):
    """What forward passes through the pages showed: a row of `results` per pack size, mode and case."""
    __slots__ = ()
    _first = ("passed", "results")


def verify(scenario=None, /, *, inject=(), forward=False, scale=None, cases=(), progress=None, **keys):
    """Allocates the pools of a plan, runs traffic through every view, and checks every address and every result.

    inject:  names of faults to plant, each of which must be caught; "all" for every one
    forward: run a random network of the model's layers, scaled down, through the pages instead, and compare it with the
             same network run without them: ForwardVerification
    scale:   of it: divide head counts and head sizes by this, else by 16
    cases:   of it: only these, else all
    """
    arguments = {"inject": inject, "forward": forward, "scale": scale, "cases": cases}
    faults, chosen = listed("inject", inject, word), listed("cases", cases, word)
    if scale is not None:
        scale = whole("scale", scale, 1)
    if flag("forward", forward):
        wishes = scale, chosen, faults
        return ForwardVerification(decoded(ask(_native.verify_network, scenario, keys, *wishes, progress=progress,
                                               arguments=arguments)))
    for name, is_given in (("scale", scale is not None), ("cases", bool(chosen))):
        if is_given:
            raise refused(name, arguments[name], "belongs to the forward pass of a network", "give forward=True too")
    return Verification(decoded(ask(_native.verify, scenario, keys, faults, progress=progress, arguments=arguments)))
