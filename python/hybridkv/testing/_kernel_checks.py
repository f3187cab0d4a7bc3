"""The checks of kernels that users call."""

import importlib.metadata
import inspect

from .._arguments import real, refused, shown, whole, word
from .._plan import Plan
from ._array_kinds import Element, arrays_of
from ._attention_problem import AttentionProblem, PrefillProblem
from ._examination import Examination
from ._kernel_layouts import (KvSizes, far_layouts, kv_homes, kv_named, probes, state_homes, state_layout_of)
from ._packed_problem import PackedProblem
from ._recurrences import FAMILIES
from ._slots_problem import SlotsProblem
from ._state_problem import StateProblem
from ._write_problem import WriteProblem


def kernel_layouts(layouts="all", *, family=None, num_blocks=12, block_tokens=16, kv_heads=3, head_size=32,
                   dtype="fp32"):
    """The layouts that the checks run, for pytest: `@pytest.mark.parametrize("layout", kernel_layouts(), ids=str)`, and
    `check_attention_kernel(fn, layouts=layout).check()` in the test. Probes are relative to the first dense layout.

    layouts: "all", "probes" (one stride each, and those beyond 2^31) or "named" (of releases)
    family:  of states; None: of K and V
    """
    if layouts not in ("all", "probes", "named"):
        raise refused("layouts", layouts, f"{shown(layouts)} are none", "give 'all', 'probes' or 'named'")
    if family is None:
        sizes = _sizes(num_blocks, block_tokens, kv_heads, head_size, dtype)
        home, named = kv_homes(sizes)[0], lambda: kv_named(sizes)
    else:
        recurrence = _family(family)
        home = state_homes(recurrence.axes, recurrence.shape)[0]
        named = StateProblem(family, "decode", Element("fp32")).named
    return ((probes(home) + far_layouts(home) if layouts != "named" else []) +
            (named() if layouts != "probes" else []))


def check_attention_kernel(fn, layouts="all", *, phase="decode", arrays="numpy", dtype="fp32", num_blocks=12,
                           block_tokens=16, kv_heads=3, head_size=32, queries_per_head=2, write=None, name=None,
                           package=None):
    """The card of a kernel that computes attention over paged K and V.

    fn:      called as fn(q=, k=, v=, block_table=, lengths=), and scale= where it takes that; gives (request, query
             head, channel). q is (request, query head, channel), k and v are views (block, token, head, channel) with
             any strides, block_table is (request, entry), lengths is (request): tokens that are seen
    layouts: "all", "probes", "named", a plan, a layout of kernel_layouts(), or a list of these or of names
    phase:   "decode": one query token a request, its last; "prefill": several, its last ones, each of which sees the
             tokens before it and itself. q and the result are then (query token, query head, channel), those of one
             request behind those of another, and fn gets query_starts= (request + 1): the first of each, and the end
    arrays:  "numpy", "torch" (tensors on the processor, for Triton's interpreter too) or "cuda"
    dtype:   of q, k and v: fp32, fp16 or bf16
    write:   for a cache whose blocks hold K and V in a form of their own: the engine's writer, called as in
             check_write_kernel, which puts the tokens of the batch there first. Then the card is of both
    name, package: on the card; the package gives the version
    """
    of = (_sizes(num_blocks, block_tokens, kv_heads, head_size, dtype), Element(dtype),
          whole("queries_per_head", queries_per_head, 1))
    _phase(phase)
    if write is not None and phase != "decode":
        raise refused("phase", phase, "what a writer of yours has filled is read by one query token a request",
                      "leave phase or write out")
    attention = PrefillProblem if phase == "prefill" else AttentionProblem
    problem = attention(*of) if write is None else PackedProblem(*of, write)
    return _examined(problem, fn, layouts, arrays, name, package)


def check_write_kernel(fn, layouts="all", *, arrays="numpy", dtype="fp32", num_blocks=12, block_tokens=16, kv_heads=3,
                       head_size=32, padding=True, name=None, package=None):
    """The card of a kernel that writes new tokens into paged K and V: of all bytes exactly theirs may change.

    fn:      called as fn(key=, value=, k=, v=, slot_mapping=): key and value are (token, head, channel), slot_mapping
             is (token), block * block_tokens + token within it, -1 where the token is padding; k and v as in
             check_attention_kernel
    padding: whether there is any
    """
    problem = WriteProblem(_sizes(num_blocks, block_tokens, kv_heads, head_size, dtype), Element(dtype), padding)
    return _examined(problem, fn, layouts, arrays, name, package)


def check_state_kernel(step, family, phase="decode", layouts="all", *, arrays="numpy", dtype="fp32", shape=None,
                       name=None, package=None):
    """The card of a kernel that reads and writes recurrent states in slots.

    step:   called as step(state=, slots=, …), changes the state in place and gives the output. Inputs by family, all of
            fp32; in a prefill those of tokens have a token axis behind the request's:
            mamba2 (state: slot, head, row, column): x (request, head, row), dt (request, head), B, C (request, column),
            A, D (head); h = exp(dt A) h + dt x B, y = h C + D x
            gdn (slot, head, value, key): q, k (request, head, key), v (request, head, value), g, beta (request, head),
            scale; h = exp(g) h, h += beta (v - h k) k, y = scale h q
            kda: as gdn, with g (request, head, key)
            linear (slot, head, value, key): q, k, v, slope (head); h = exp(-slope) h + v k, y = h q
            conv (slot, channel, tap): x (request, channel), weight (channel, tap + 1)
    phase:  "decode": one token a request; "prefill": several, behind the state that is there
    shape:  of the state, the slots first
    """
    _family(family)
    _phase(phase)
    if isinstance(layouts, Plan):
        layouts = state_layout_of(layouts, FAMILIES[family].axes, f"{layouts.model}", "plan", None, 10)
        shape = layouts.groups[0].shape
    problem = StateProblem(family, phase, Element(dtype), shape and tuple(shape))
    return _examined(problem, step, layouts, arrays, name, package)


def check_slots(pack, unpack, values, slot_bytes, layouts="all", *, block_tokens=16, tolerance=0.1, arrays="numpy",
                name=None, package=None):
    """The card of an opaque format of slots: what is packed comes back, lies in each layout as it does in dense slots,
    and changes no byte beside its own.

    pack:    called as pack(values=, slots=, slot_mapping=); slots are bytes (block, token, byte)
    unpack:  called as unpack(slots=, slot_mapping=), gives an array like values
    values:  what is packed, at most five tokens: an array (token, …) as pack takes it
    tolerance: largest error of what comes back, in parts of the largest value
    """
    problem = SlotsProblem(values, whole("slot_bytes", slot_bytes, 1), whole("block_tokens", block_tokens, 3),
                           real("tolerance", tolerance))

    def call(views, inputs, optional):
        pack(**views, **inputs)
        return unpack(**views, slot_mapping=inputs["slot_mapping"])

    return Examination(problem, call, arrays_of(arrays, problem.element), _kernel(pack, name, package)).card(layouts)


def _examined(problem, fn, layouts, arrays, name, package):
    accepts = _accepted(fn)

    def call(views, inputs, optional):
        return fn(**views, **inputs, **{key: value for key, value in optional.items() if accepts(key)})

    return Examination(problem, call, arrays_of(arrays, problem.element), _kernel(fn, name, package)).card(layouts)


def _accepted(fn):
    if not callable(fn):
        raise refused("fn", fn, f"{shown(fn)} cannot be called", "give a function")
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return lambda key: False
    return lambda key: key in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def _sizes(num_blocks, block_tokens, kv_heads, head_size, dtype):
    return KvSizes(whole("num_blocks", num_blocks, 8), whole("block_tokens", block_tokens, 4),
                   whole("kv_heads", kv_heads, 1), whole("head_size", head_size, 1), Element(dtype).name)


def _phase(phase):
    if phase not in ("decode", "prefill"):
        raise refused("phase", phase, f"{shown(phase)} is none", "give 'decode' or 'prefill'")


def _family(family):
    if family not in FAMILIES:
        raise refused("family", family, f"{shown(family)} is none", f"give one of {', '.join(FAMILIES)}")
    return FAMILIES[family]


def _kernel(fn, name, package):
    name = word("name", name) if name is not None else getattr(fn, "__name__", type(fn).__name__)
    version = None
    if package is not None:
        try:
            version = importlib.metadata.version(word("package", package))
        except importlib.metadata.PackageNotFoundError:
            raise refused("package", package, "is not installed", "leave it out, or install it") from None
    return {"name": name, "package": package, "version": version}
