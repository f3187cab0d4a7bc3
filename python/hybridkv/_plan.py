"""Plans: numbers at once, everything else when it is asked for."""

import json

from . import _native
from ._arguments import flag, listed, path, real, refused, whole, word
from ._ask import explained, tell
from ._errors import InputError
from ._record import Record, Records, html_table, plain

_FAST = frozenset(("num_blocks", "usable_blocks", "page_bytes", "attention_pack_size", "max_fitting_tokens",
                   "max_running_requests"))


class Capacity(Record):
    """What fits at one length."""
    __slots__ = ()
    _first = ("max_model_len", "blocks_per_request", "max_concurrency", "kv_cache_tokens", "fits")


class Prefix(Record):
    __slots__ = ()


class Waste(Record):
    __slots__ = ()


class Spec(Record):
    __slots__ = ()
    _first = ("id", "kind", "layers", "block_size_tokens")


class Group(Record):
    __slots__ = ()


class Pool(Record):
    __slots__ = ()


class Arena(Record):
    __slots__ = ()


class View(Record):
    """Where one tensor of one layer lies: strides and offset in elements, and in bytes."""
    __slots__ = ()
    _first = ("layer", "tensor", "pool", "dtype", "axes", "shape", "strides", "offset")


class Decision(Record):
    """A number, the rule that gives it, the rule's inputs, and where the rule is from."""
    __slots__ = ()

    def __str__(self):
        result = self["result"]
        unit = f" {result['unit']}" if result["unit"] else ""
        inputs = ", ".join(f"{term['symbol']} = {term['value']}" for term in plain(self["inputs"]))
        return (f"{result['symbol']} = {result['value']}{unit}\n  rule    {self['rule']}"
                + (f"\n  inputs  {inputs}" if inputs else "") + f"\n  source  {self['source']}")


class PlanWarning(Record):
    """Something that is legal but that one would want to know."""
    __slots__ = ()


class _Held:
    """What one call made, shared by its plans: native plans, and their JSON once somebody asked."""

    __slots__ = ("native", "scenario", "keys", "cards", "_document")

    def __init__(self, native, scenario, keys, cards=()):
        self.native = native
        self.scenario = scenario
        self.keys = keys
        self.cards = cards
        self._document = None

    def document(self):
        if self._document is None:
            self._document = json.loads(self.native.json())
        return self._document


class Plan(Record):
    """The layout of one model under one setting: every field of the program's JSON, and what all its plans share
    (`model`, `tensor_parallel`, `strategy`)."""

    __slots__ = ("_held", "_index", "_pools")
    _kinds = {"capacity": Capacity, "prefix": Prefix, "waste": Waste, "specs": Spec, "groups": Group, "pools": Pool,
              "arenas": Arena, "views": View, "derivation": Decision, "warnings": PlanWarning}
    _first = ("attention_pack_size", "num_blocks", "page_bytes", "max_fitting_tokens")

    def __init__(self, held, index):
        object.__setattr__(self, "_held", held)
        object.__setattr__(self, "_index", index)

    def _data(self):
        return self._held.document()["plans"][self._index]

    @property
    def model(self):
        return self._held.document()["model"]

    @property
    def tensor_parallel(self):
        return self._held.document()["tensor_parallel"]

    @property
    def strategy(self):
        return self._data().get("strategy", self._held.document()["strategy"])

    def __getattr__(self, name):
        if name in _FAST:
            number = getattr(self._held.native, name)(self._index)
            if number is not None:
                return number
        return super().__getattr__(name)

    def __reduce__(self):
        return _planned_again, (self._held.scenario, self._held.keys, bool(self._data()["views"]), self._index,
                                self._held.cards)

    def to_json(self):
        """The program's JSON of this plan alone, as `hybridkv plan --format json` says it."""
        document = self._held.document()
        return json.dumps({**document, "plans": [self._data()]}, indent=2)

    def explain(self, name=None):
        """How numbers come about, as text: all of them, or those that are called so."""
        if name is not None:
            return self._explained(word("name", name))
        return str(explain(self._held.scenario, **self._asked(full=True)))

    def _asked(self, full=False, **more):
        keys = {**self._held.keys, **more}
        if full:
            keys["engine.attention_pack_size"] = self.attention_pack_size
            keys.pop("attention_pack_size", None)
        return keys

    def _explained(self, name):
        decisions = explain(self._held.scenario, **self._asked(full=True)).plans[0]["derivation"]
        asked = _symbol(name)
        symbols = [decision["result"]["symbol"] for decision in decisions]
        found = [decision for decision, symbol in zip(decisions, symbols) if symbol == asked]
        found = found or [decision for decision, symbol in zip(decisions, symbols)
                          if symbol.startswith((asked + " of ", asked + " ("))]
        if not found:
            import difflib
            meant = difflib.get_close_matches(asked, symbols, 3)
            hint = "did you mean " + " or ".join(map(repr, meant)) if meant else "plan.derivation has all symbols"
            raise InputError(f"{name}: no number of the derivation is called so; {hint}")
        return "\n".join(map(str, found))

    # Memory.

    def pools(self, num_blocks=None, *, beyond_memory=False):
        """Allocates the pools: all of them, or those of a pool of so many blocks. Nothing of them takes memory before it
        is touched; pools that would not fit if all were touched are refused unless `beyond_memory`. Views of the plan lie
        in them from now on."""
        from ._pools import Pools
        plan = self
        if num_blocks is not None:
            # Room for a request of one token does: a pool that is tried out need not hold the longest one.
            lengths = sorted({1, *(capacity["max_model_len"] for capacity in self._data()["capacity"])})
            plan = plan_of(self._held.scenario,
                           self._asked(full=True, num_blocks=num_blocks, max_model_len=lengths), "full")
        elif not self._data()["views"]:
            plan = plan_of(self._held.scenario, self._asked(full=True), "full")
        made = Pools(plan, flag("beyond_memory", beyond_memory))
        object.__setattr__(self, "_pools", made)
        return made

    def view(self, layer, tensor="kv", *, spec=None, piece=None):
        """A tensor of a layer over the pools that were allocated last: a NumPy array with the planned strides, which
        torch.from_dlpack takes with its element type."""
        return self._over().view(layer, tensor, spec=spec, piece=piece)

    def _over(self):
        try:
            return object.__getattribute__(self, "_pools")
        except AttributeError:
            return self.pools()

    def as_strided(self, layer, tensor="kv", *, spec=None, piece=None):
        """(shape, stride, storage_offset) in elements, as torch.as_strided takes them, over one's own storage of the
        pool `views[...].pool`."""
        from ._pools import find_view
        view = find_view(self._data(), layer, tensor, spec, piece)
        return tuple(view["shape"]), tuple(view["strides"]), view["offset"]


class Plans(Records):
    """Plans of several pack sizes, in the order that was asked for."""

    __slots__ = ("_held",)

    def __init__(self, items):
        super().__init__(items)
        self._held = self[0]._held if len(self) else None

    def to_json(self):
        return json.dumps(self._held.document(), indent=2)

    def _repr_html_(self):
        columns = ("attention_pack_size", "num_blocks", "page_bytes", "max_fitting_tokens")
        return html_table(columns, [[getattr(plan, name, None) for name in columns] for plan in self], self[0].model)

    def to_pandas(self):
        """A row per plan with what is a number or a word."""
        from ._record import _pandas
        return _pandas().DataFrame([{key: value for key, value in plan._data().items()
                                     if not isinstance(value, (dict, list))} for plan in self])


_SYMBOLS = {"page_bytes": "P", "block_size_tokens": "B", "attention_pack_size": "N", "tensor_parallel": "TP"}


def _symbol(name):
    return name if name == "num_blocks" else _SYMBOLS.get(name, name.replace("_", " "))


def _planned_again(scenario, keys, full, index, cards=()):
    made = plan_of(scenario, keys, "full" if full else "numbers", cards)
    return made[index] if isinstance(made, Plans) else made


def plan_of(scenario, keys, detail, cards=()):
    if detail == "numbers":
        if scenario is None:
            native = _native.plan_numbers(keys)
            if native is not None:
                return Plan(_Held(native, None, keys), 0)
    elif detail != "full":
        raise InputError(f"detail: '{detail}' is none; take full or numbers")
    with explained(scenario, keys, {"kernels": cards}):
        planned = _native.plan(scenario, keys, detail == "full", cards)
    tell(planned.notes)
    held = _Held(planned.plans, scenario, keys, cards)
    plans = [Plan(held, index) for index in range(len(planned.plans))]
    return plans[0] if len(plans) == 1 else Plans(plans)


def plan(scenario=None, /, *, detail="full", kernels=(), **keys):
    """Plans a layout. Of one pack size the Plan, of several the Plans, in order.

    scenario: a name or path, a mapping, a model's config, or nothing where keywords say it all
    detail:   "numbers" leaves out views and derivation
    kernels:  files of kernels' cards (hybridkv.testing): `kernels` of each plan says what it does to each of them
    keys:     any key of a scenario: model=, memory=, max_model_len=, tensor_parallel=, engine=, …
    """
    detail = "full" if detail is None else word("detail", detail)
    cards = listed("kernels", kernels, path)
    if cards and detail == "numbers":
        raise refused("kernels", kernels, "kernels are held against views, which detail='numbers' leaves out",
                      "take detail='full'")
    return plan_of(scenario, keys, detail, cards)


class ExplainedPlan(Record):
    """The derivation of one plan."""
    __slots__ = ()
    _kinds = {"derivation": Decision}


class Explanation(Record):
    """Every number of every plan with its rule, its inputs and its source; as text with str()."""

    __slots__ = ("_question",)
    _kinds = {"plans": ExplainedPlan}

    def __init__(self, fields, question=None):
        super().__init__(fields)
        object.__setattr__(self, "_question", question)

    def __str__(self):
        return _native.explain(*self._question, "table")

    def __reduce__(self):
        return type(self), (self._fields, self._question)


def explain(scenario=None, /, *, number=None, **keys):
    """Derives every number of a plan.

    number: one alone, as it was printed or logged, with what it stands on: 2096, "1,734,082", "3.65 %", "675MiB"
    """
    asked = ""
    if number is not None:
        asked = word("number", number) if isinstance(number, str) else f"{real('number', number):.15g}"
    with explained(scenario, keys, {"number": number}):
        return Explanation(json.loads(_native.explain(scenario, keys, asked, "json")), (scenario, keys, asked))


class ByteOwners(Record):
    """Whose a byte of a cache is: its `id`, and `owners`, one for each group that the id may be of."""
    __slots__ = ()


def whose(scenario=None, /, *, byte, pool=0, **keys):
    """Whose a byte of a pool is: group, layer, tensor, and where in it.

    byte: from the front of the pool
    pool: number of the allocation, in the order of the plan
    """
    place = whole("pool", pool), whole("byte", byte)
    with explained(scenario, keys, {"byte": byte, "pool": pool}):
        return ByteOwners(json.loads(_native.whose(scenario, keys, *place)))
