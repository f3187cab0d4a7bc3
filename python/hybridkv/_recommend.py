"""Recommendations: which settings suit a workload, and where its states are best kept."""

from . import _native
from ._arguments import flag, listed, path, real, refused, whole, word
from ._ask import ask, decoded
from ._record import Record


class Recommendation(Record):
    """The pick, why it is the pick, every candidate, and the commands of a shell that say its numbers again."""
    __slots__ = ()


class Checkpoints(Record):
    """Where states are best kept: the best `places`, and what `settings` of engines find."""
    __slots__ = ()


def _retention(name, value):
    return None if value is None else whole(name, value)


_FORMS = {"at_length": whole, "min_concurrency": real, "give_up_percent": real, "min_kernel_block": whole,
          "search": word, "prompt_tokens": whole, "shared_prefix_tokens": whole}
_LISTS = {"packs": whole, "block_sizes": whole, "kernel_blocks": whole, "modes": word, "match_units": whole,
          "retentions": _retention, "strategies": word, "ratios": real, "page_sizes": whole,
          "track_intervals": whole, "snapshots": word, "snapshot_intervals": whole, "slots": whole,
          "slot_checkpoints": whole, "checkpoint_steps": whole, "cache_rams": whole, "kernels": path}


def recommend(scenario=None, /, *, at_length=None, min_concurrency=None, give_up_percent=None, packs=(),
              block_sizes=(), kernel_blocks=(), min_kernel_block=None, modes=(), match_units=(), retentions=(),
              search=None, strategies=(), ratios=(), page_sizes=(), track_intervals=(), snapshots=(),
              snapshot_intervals=(), slots=(), slot_checkpoints=(), checkpoint_steps=(), cache_rams=(),
              prompt_tokens=None, shared_prefix_tokens=None, kernels=(),
              checkpoints=False, progress=None, **keys):
    """Searches settings for a workload. Lists say what is searched; what is not said is up to the search.

    at_length:     tokens of the requests by which bytes and concurrency are counted; else the longest max_model_len
    min_concurrency, give_up_percent: what must fit at once; without it the most that the pick may hold fewer than the
                   default
    packs:         the same as attention_pack_size
    block_sizes:   0 stands for none asked for    match_units: 0 stands for the block
    retentions:    None keeps every checkpoint, 0 the last one
    prompt_tokens, shared_prefix_tokens: prompts of one length in place of a trace, max_requests of them, by default 300
    kernels:       files of kernels' cards (hybridkv.testing): a layout that one would refuse or silently corrupt is
                   picked only where there is no other
    checkpoints:   only say where states are best kept, and what `retentions` find: Checkpoints
    """
    given = {name: value for name, value in locals().items() if name in _FORMS or name in _LISTS}
    wishes = _native.RecommendWishes()
    for name, value in given.items():
        if name in _LISTS:
            setattr(wishes, name, listed(name, value, _LISTS[name]))
        elif value is not None:
            setattr(wishes, name, _FORMS[name](name, value))
    if flag("checkpoints", checkpoints):
        if wishes.kernels:
            raise refused("kernels", kernels, "no kernel sees where states are kept", "leave out checkpoints=True")
        return Checkpoints(decoded(ask(_native.checkpoints, scenario, keys, wishes, progress=progress,
                                       arguments=given)))
    return Recommendation(decoded(ask(_native.recommend, scenario, keys, wishes, progress=progress, arguments=given)))
