"""The layouts that a kernel is tried on: dense ones, probes that stretch one stride each, far ones whose products pass
2^31, those of every release at tiny sizes, and those of plans."""

import dataclasses
import itertools
import json
import pathlib

from .._arguments import refused
from ._cache_views import Group, KV_AXES, KernelLayout, dense_strides

#: Axes whose products are tried beyond 2^31.
FAR_AXES = ("block", "slot", "head")
_FAR = 1 << 31
_MOST_BLOCKS = 8  # of a plan that is given


@dataclasses.dataclass(frozen=True)
class KvSizes:
    """Extents of K and V."""
    num_blocks: int = 12
    block_tokens: int = 16
    kv_heads: int = 3
    head_size: int = 32
    dtype: str = "fp32"

    @property
    def shape(self):
        return (self.num_blocks, self.block_tokens, self.kv_heads, self.head_size)


def kv_homes(sizes):
    """The dense layouts: token before head or head before token; V behind all of K, behind K in each block, or behind
    K's channels of each head."""
    homes = []
    for order, axes in (("nhd", (0, 1, 2, 3)), ("hnd", (0, 2, 1, 3))):
        strides = dense_strides(sizes.shape, axes)
        page, channels = strides[0], sizes.head_size
        for name, placed, behind in (
                ("apart", strides, page * sizes.num_blocks), ("joined", (2 * page, *strides[1:]), page),
                ("joined by channel", (*(2 * stride for stride in strides[:3]), 1), channels)):
            groups = tuple(Group(group, KV_AXES, sizes.shape, placed, offset)
                           for group, offset in (("k", 0), ("v", behind)))
            homes.append(KernelLayout(f"{order}, {name}", "dense", groups, 2 * page * sizes.num_blocks))
    return homes


def stretched(home, group, axis, stride, kind):
    """A dense layout with another stride of one axis of one view, so large that nothing meets."""
    number = home.group(group).axes.index(axis)
    groups = []
    for each in home.groups:
        strides = list(each.strides)
        if each.name == group:
            strides[number] = stride
        groups.append(dataclasses.replace(each, strides=tuple(strides)))
    elements = max(home.elements, *(each.end for each in groups))
    return KernelLayout(f"{kind} {group}.{axis}", kind, tuple(groups), elements, (group, axis))


def probes(home):
    """One for each stride: it alone is not what the dense layout has."""
    return [stretched(home, group.name, axis, _aligned(home.elements), "probe")
            for group in home.groups for axis in group.axes]


def far_layouts(home):
    """The last block, slot and head lie beyond 2^31 elements, by their own stride alone."""
    found = []
    for group in home.groups:
        for axis, extent in zip(group.axes, group.shape):
            if axis in FAR_AXES and extent > 1:
                stride = _aligned(-(-_FAR // (extent - 1)) + home.elements)
                if stride < _FAR:  # else the stride itself has more than 32 bits, and no product is computed in fewer
                    found.append(stretched(home, group.name, axis, stride, "far"))
    return found


def _aligned(elements):
    return -(-elements // 64) * 64


def distinct(layouts):
    """Of those that put every element at the same place the first."""
    seen, kept = set(), []
    for layout in layouts:
        if layout.key not in seen:
            seen.add(layout.key)
            kept.append(layout)
    return kept


# ------------------------------------------------------------------------------------------------------- of releases

_ATTENTION = "full_attention"


def _of_releases(kind):
    """Every order, pack and form that the rules of releases with common pages know; what a plan refuses is in none of
    them. Fields are those of a scenario; `kernel_blocks`: a page takes several."""
    text = (pathlib.Path(__file__).parent / "layouts_of_releases.json").read_text()
    return json.loads(text)[kind]


def _tiny_plan(release, order, pack, form, padded, recurrent, sizes, states, large_page=False):
    """The plan of a model with attention layers of these sizes, and recurrent ones between them."""
    from .._plan import plan
    kinds = {"a": {"type": _ATTENTION, "query_heads": sizes.kv_heads, "kv_heads": sizes.kv_heads,
                   "head_size": sizes.head_size}}
    if recurrent:
        kinds["m"] = states
    keys = {"attention_pack_size": pack} if pack > 1 else {}
    if large_page:
        keys["kernel_block_sizes"] = [sizes.block_tokens]
    return plan(model={"name": "kernel", "dtype": sizes.dtype, "layers": "(ma)3" if recurrent else "(a)3",
                       "kinds": kinds},
                engine=release, physical_order=order, backend_form=form, page_alignment_bytes=padded,
                kernel_alignment_tokens=sizes.block_tokens, num_blocks=40, memory="1GiB",
                max_model_len=2 * sizes.block_tokens, **keys)


def _small_state(sizes):
    """A state that is smaller than a block of K and V, so that the block stays one of the kernel's."""
    return {"type": "mamba2", "heads": 1, "head_dim": 8, "state_size": 8, "conv_kernel": 4}


def _large_state(sizes):
    """One for which a page takes several kernel blocks."""
    page = 2 * sizes.block_tokens * sizes.kv_heads * sizes.head_size
    return {"type": "mamba2", "heads": 2, "head_dim": 8, "state_size": -(-5 * page // 4 // 16), "conv_kernel": 4}


def kv_named(sizes):
    """Every order, pack, padding and kernel block of the releases that plans are made for, at these sizes."""
    found = []
    for case in _of_releases("attention"):
        release, order, pack, form = (case[key] for key in ("release", "order", "pack", "form"))
        padded, recurrent, large = (case[key] for key in ("page_alignment_bytes", "recurrent", "kernel_blocks"))
        states = (_large_state if large else _small_state)(sizes)
        planned = _tiny_plan(release, order, pack, form, padded, recurrent, sizes, states, large)
        words = [release, order, "" if pack == 1 else f"pack {pack}", "" if form == "paged" else form,
                 "" if padded == 1 else "padded", "kernel blocks" if large else ""]
        found.append(kv_layout_of(planned, " ".join(filter(None, words)), "named"))
    return distinct(found)


def kv_layout_of(plan, name, kind, layer=None, most_blocks=None):
    """K and V of one attention layer of a plan; the others that share its memory are neighbours. Default: the layer
    in the middle of its group."""
    views = [view for view in plan._data()["views"] if view["tensor"] == "kv"]
    held = sorted({view["layer"] for view in views})
    if layer is None:
        layer = held[len(held) // 2]
    chosen = next(view for view in views if view["layer"] == layer)
    groups = _key_and_value(plan, chosen, most_blocks)
    neighbours = _neighbours(plan, chosen, most_blocks)
    elements = max(group.end for group in (*groups, *neighbours))
    return KernelLayout(name, kind, groups, elements, None, neighbours)


def _neighbours(plan, chosen, most_blocks):
    """What else lies in the pool of a view, in elements of the same type."""
    found = []
    for view in plan._data()["views"]:
        if view is not chosen and view["pool"] == chosen["pool"] and view["dtype"] == chosen["dtype"]:
            shape = list(view["shape"])
            block = view["axes"].index("block")
            shape[block] = min(shape[block], most_blocks or shape[block])
            found.append(Group(f"layer {view['layer']}'s {view['tensor']}", tuple(view["axes"]), tuple(shape),
                               tuple(view["strides"]), view["offset"]))
    return tuple(found)


def _key_and_value(plan, view, most_blocks):
    attention = plan._data()["specs"][view["spec"]]["attention"]
    axes, shape, strides = list(view["axes"]), list(view["shape"]), list(view["strides"])
    groups = []
    for name in ("k", "v"):
        offset, extents, steps, left = view["offset"], list(shape), list(strides), list(axes)
        if "kv" in left:
            at = left.index("kv")
            offset += steps[at] if name == "v" else 0
            del left[at], extents[at], steps[at]
        else:
            at = left.index("channel")
            offset += attention["head_size_k"] * steps[at] if name == "v" else 0
            extents[at] = attention["head_size_k" if name == "k" else "head_size_v"]
        order = [left.index(axis) for axis in KV_AXES]
        extents = [extents[at] for at in order]
        extents[0] = min(extents[0], most_blocks or extents[0])
        groups.append(Group(name, KV_AXES, tuple(extents), tuple(steps[at] for at in order), offset))
    return tuple(groups)


def kv_layouts_of_plan(plan):
    """Of a plan that was given: one layer of each spec that has K and V, its first blocks."""
    found, seen = [], set()
    for view in plan._data()["views"]:
        if view["tensor"] == "kv" and view["spec"] not in seen:
            seen.add(view["spec"])
            if plan._data()["specs"][view["spec"]]["attention"]["form"] == "mla":
                continue
            found.append(kv_layout_of(plan, f"{plan.model} layer {view['layer']}", "plan", view["layer"],
                                      _MOST_BLOCKS))
    if not found:
        raise refused("layouts", plan, f"{plan.model} has no layer with K and V (latents are neither)",
                      "give a plan of a model that has one")
    return found


class KvProblem:
    """What is tried on K and V of some `sizes`: their layouts."""

    def homes(self):
        return kv_homes(self.sizes)

    def named(self):
        return kv_named(self.sizes)

    def of_plan(self, plan):
        return kv_layouts_of_plan(plan)


# --------------------------------------------------------------------------------------------------------- of states

def state_homes(axes, shape):
    """The state without gaps, in the order of its axes, and for convolutions with the channels nearest."""
    orders = [tuple(range(len(shape)))]
    if axes[-1] == "tap":
        orders.append((0, 2, 1))
    homes = []
    for order in orders:
        group = Group("state", axes, shape, dense_strides(shape, order), 0)
        name = ", ".join(axes[axis] for axis in order)
        homes.append(KernelLayout(name, "dense", (group,), group.end))
    return homes


def state_named(axes, shape):
    """Slots in padded pages and behind other tensors, inner axes in every order, and padded."""
    found = []
    inner = range(1, len(shape))
    for order in itertools.permutations(inner):
        strides = dense_strides(shape, (0, *order))
        for gap, what in ((0, ""), (1, "in a padded page"), (2, "behind another tensor of its page")):
            page = strides[0] * (1 if gap == 0 else 2) + (64 if gap else 0)
            offset = 64 + strides[0] // 2 // 16 * 16 if gap == 2 else 0
            group = Group("state", axes, shape, (page, *strides[1:]), offset)
            name = " ".join(filter(None, ["order", ", ".join(axes[axis] for axis in order), what]))
            found.append(KernelLayout(name, "named", (group,), group.offset + page * shape[0]))
    for padded in inner:
        wide = [extent + 16 * (axis == padded) for axis, extent in enumerate(shape)]
        group = Group("state", axes, shape, dense_strides(wide), 0)
        found.append(KernelLayout(f"{axes[padded]} padded", "named", (group,), group.end + 64))
    return found


def state_layout_of(plan, axes, name, kind, layer=None, most_slots=None):
    """One tensor of the states of a plan: its convolution where the axes end in a tap, else its recurrent state."""
    tensor = "conv" if axes[-1] == "tap" else "ssm"
    views = [view for view in plan._data()["views"] if view["tensor"] == tensor]
    if not views:
        raise refused("layouts", plan, f"{plan.model} has no state {tensor!r}", "give a plan of a model that has one")
    held = sorted({view["layer"] for view in views})
    layer = held[len(held) // 2] if layer is None else layer
    chosen = next(view for view in views if view["layer"] == layer)
    order = [0, 2, 1] if tensor == "conv" else range(len(chosen["shape"]))  # a plan has (block, step, channel)
    shape, strides = ([chosen[what][axis] for axis in order] for what in ("shape", "strides"))
    group = Group("state", axes, (min(shape[0], most_slots or shape[0]), *shape[1:]), tuple(strides), chosen["offset"])
    neighbours = _neighbours(plan, chosen, most_slots)
    return KernelLayout(name, kind, (group,), max(each.end for each in (group, *neighbours)), None, neighbours)


def state_of_releases(axes, shape, states, slots):
    """States as releases place them: beside the attention layers of their pages."""
    found = []
    for case in _of_releases("states"):
        release, order, pack = (case[key] for key in ("release", "order", "pack"))
        planned = _tiny_plan(release, order, pack, "paged", 1, True, KvSizes(), states)
        name = f"{release} {order}" + (f" pack {pack}" if pack > 1 else "")
        layout = state_layout_of(planned, axes, name, "named", None, slots)
        found += [layout] if layout.groups[0].shape == shape else []
    return found


# ---------------------------------------------------------------------------------------------------------- of slots

def slot_homes(num_blocks, block_tokens, slot_bytes):
    shape, axes = (num_blocks, block_tokens, slot_bytes), ("block", "token", "byte")
    group = Group("slots", axes, shape, dense_strides(shape), 0)
    return [KernelLayout("dense", "dense", (group,), group.end)]


def slot_named(num_blocks, block_tokens, slot_bytes):
    """Slots in padded blocks, padded themselves, and blocks of several layers in a page."""
    shape, axes = (num_blocks, block_tokens, slot_bytes), ("block", "token", "byte")
    found = []
    for name, block, token, offset in (
            ("blocks padded", block_tokens * slot_bytes + 256, slot_bytes, 0),
            ("slots padded", block_tokens * (slot_bytes + 16), slot_bytes + 16, 0),
            ("three layers in a page", 3 * block_tokens * slot_bytes, slot_bytes, block_tokens * slot_bytes),
            ("three layers in a slot", 3 * block_tokens * slot_bytes, 3 * slot_bytes, slot_bytes)):
        group = Group("slots", axes, shape, (block, token, 1), offset)
        found.append(KernelLayout(name, "named", (group,), group.offset + num_blocks * block))
    return found
