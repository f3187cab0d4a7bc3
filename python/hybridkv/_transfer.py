"""Transfers: the copies that move a request from one deployment to another."""

import os

from . import _native
from ._arguments import flag, is_list, items, listed, mapping, refused, shown, whole, word
from ._ask import decoded, explained, progress_of
from ._errors import InputError
from ._record import Record, Records

_CONTENT = ("role", "kind", "layer", "tensor", "from_dtype", "to_dtype", "unique_bytes")


class Transfer(Record):
    """What moves one request from one deployment to another: the counts, and the list that they count."""
    __slots__ = ("_made",)
    _first = ("model", "tokens", "totals")

    def __init__(self, fields, made=None):
        super().__init__(fields)
        object.__setattr__(self, "_made", made)

    def _list(self):
        if self._made is None:
            raise InputError("copies: are of the call that made them; ask again")
        return self._made

    @property
    def copies(self):
        """A NumPy array of records, a copy each as `--export` lists them: ranks, pools, first bytes, bytes, and the
        position in `contents` of what it begins with."""
        import numpy as np
        made = self._list()
        names, formats, offsets = zip(*_native.copy_fields())
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": _native.copy_size})
        return made.copy_bytes().view(dtype)

    @property
    def contents(self):
        """What is copied, a tensor of a layer each: `copies["content"]` are positions here."""
        return Records([Record(dict(zip(_CONTENT, row))) for row in self._list().contents()])

    @property
    def from_ids(self):
        """The block tables of the source: a list of stages, each a list of groups, each a masked NumPy array of ids,
        masked where nobody holds the tokens any more. from_ids= takes them."""
        return _tables_of(self._list().from_ids())

    @property
    def to_ids(self):
        """The same of the destination."""
        return _tables_of(self._list().to_ids())

    def __reduce__(self):
        return type(self), (self._fields,)


class TransferLayouts(Record):
    """What other orders, pack sizes and blocks on both sides would make of it: a row of `layouts` each."""
    __slots__ = ()
    _first = ("model", "tokens", "layouts")


def _tables_of(stages):
    import numpy as np
    return [[np.ma.masked_equal(np.array(ids, dtype=np.int64), _native.nobody_holds) for ids in groups]
            for groups in stages]


def _is_path(value):
    return isinstance(value, str) or (hasattr(value, "__fspath__") and not isinstance(value, type))


def _items(name, value, place):
    """The items of a list of ids or of lists."""
    if not is_list(value):
        raise refused(name, value, f"{place} is {shown(value)}", "give a list of groups, each a list of ids", place)
    return items(value)


def _id(name, value, place):
    if value is None:
        return _native.nobody_holds
    try:
        return whole(name, value)
    except InputError:
        raise refused(name, value, f"{place} is {shown(value)}", "ids are whole numbers from 0, None is nobody's",
                      place) from None


def _ids(name, value):
    """Ids as [stage][group][position], of any iterables of whole numbers inside each other; of one stage its groups will
    do."""
    groups = [(_items(name, item, f"{name}[{index}]"), f"{name}[{index}]")
              for index, item in enumerate(_items(name, value, name))]
    is_one_stage = not any(ids and is_list(ids[0]) for ids, _ in groups)
    stages = [groups] if is_one_stage else [
        [(_items(name, item, f"{place}[{index}]"), f"{place}[{index}]") for index, item in enumerate(ids)]
        for ids, place in groups]
    return [[[_id(name, item, f"{place}[{index}]") for index, item in enumerate(ids)] for ids, place in stage]
            for stage in stages]


def transfer(scenario=None, /, to=None, *, to_keys=None, tokens=None, present_tokens=0, ids="scattered", from_ids=None,
             to_ids=None, as_prefix=False, convert=(), alternatives=False, verify=False, inject=(), progress=None,
             **keys):
    """The copies that move one request from `scenario` to `to`, or to the same with `to_keys` laid over it.

    from_ids, to_ids: the block ids of the request at a side: a list of groups, each a list, iterable or NumPy array of
                  ids in the order of its tokens, None or masked where nobody holds the tokens any more; of several
                  stages a list of these; or the path of a file that --from-ids takes
    alternatives: what other layouts on both sides would make of it: TransferLayouts
    verify:       move it between real pools and check what arrives; inject: faults to plant
    """
    as_prefix, alternatives = flag("as_prefix", as_prefix), flag("alternatives", alternatives)
    changes, faults = listed("convert", convert, word), listed("inject", inject, word)
    verify = flag("verify", verify) or bool(faults)
    if alternatives and verify:
        raise refused("alternatives", alternatives, "counts what other layouts take, and verify moves what one takes",
                      "give one of them")
    wishes = _native.TransferWishes()
    if tokens is not None:
        wishes.tokens = whole("tokens", tokens, 1)
    wishes.present_tokens = whole("present_tokens", 0 if present_tokens is None else present_tokens)
    wishes.ids = word("ids", "scattered" if ids is None else ids)
    for name, given in (("from_ids", from_ids), ("to_ids", to_ids)):
        if _is_path(given):
            setattr(wishes, name + "_file", word(name, os.fspath(given)))
        elif given is not None:
            setattr(wishes, name, _ids(name, given))
    wishes.as_prefix, wishes.verify, wishes.alternatives = as_prefix, verify, alternatives
    wishes.convert, wishes.inject = changes, faults
    to_keys = mapping("to_keys", to_keys)
    arguments = {"to_keys": to_keys, "tokens": tokens, "present_tokens": present_tokens, "ids": ids,
                 "from_ids": from_ids, "to_ids": to_ids, "as_prefix": as_prefix, "convert": convert, "inject": inject}
    with explained(scenario, {**keys, **to_keys}, arguments), progress_of(progress) as watch:
        made = _native.transfer(scenario, to, keys, to_keys, wishes, watch)
    fields = decoded(made.answer)
    return TransferLayouts(fields) if alternatives else Transfer(fields, made)
