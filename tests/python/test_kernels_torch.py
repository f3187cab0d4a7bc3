"""Checks of kernels on tensors of PyTorch, on a copy of the memory as a GPU has it, and in Triton's interpreter."""

import os

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
os.environ.setdefault("TRITON_INTERPRET", "1")

from hybridkv.testing import (check_attention_kernel, check_slots, check_state_kernel,  # noqa: E402
                              check_write_kernel)


def attend(q, k, v, block_table, lengths, scale):
    output = []
    for row, length in enumerate(lengths.tolist()):
        position = torch.arange(length)
        place = block_table[row, position // k.shape[1]].long().cpu(), position % k.shape[1]
        key, value = (x[place].to("cpu", torch.float32).repeat_interleave(q.shape[1] // k.shape[2], 1) for x in (k, v))
        scores = torch.einsum("hc,thc->ht", q[row].to("cpu", torch.float32), key) * scale
        output.append(torch.einsum("ht,thc->hc", scores.softmax(1), value))
    return torch.stack(output).to(q.dtype)


def write_reshaped(key, value, k, v, slot_mapping):
    kept = slot_mapping >= 0
    for cache, rows in ((k, key), (v, value)):
        cache.reshape(-1, *cache.shape[2:])[slot_mapping[kept]] = rows[kept]


def conv(state, slots, x, weight):
    window = torch.cat([state[slots.long()], x[:, :, None]], -1)
    state[slots.long()] = window[:, :, 1:]
    return (window * weight).sum(-1)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_right(dtype):
    card = check_attention_kernel(attend, arrays="torch", dtype=dtype, package="torch").check()
    assert card.takes["v"] == ["block", "token", "head", "channel"]
    assert card.ran["arrays"] == "torch" and card.ran["versions"]["torch"] == torch.__version__
    assert not card.ran["traced"] and card.kernel["version"]


def test_state():
    check_state_kernel(conv, "conv", arrays="torch").check()


def test_writes_into_a_copy():
    card = check_write_kernel(write_reshaped, arrays="torch")
    assert card.derives == {"k": ["block"], "v": ["block"]} and len(card.why) == 1
    assert [each["rule"] for group in card.groups for each in group.derives] == ["next", "next"]


def test_slots():
    def pack(values, slots, slot_mapping):
        place = slot_mapping // slots.shape[1], slot_mapping % slots.shape[1]
        slots[place] = values.to(torch.float32).view(torch.uint8)

    def unpack(slots, slot_mapping):
        return slots[slot_mapping // slots.shape[1], slot_mapping % slots.shape[1]].view(torch.float32)

    values = np.random.default_rng(3).uniform(-1, 1, (5, 12))
    assert check_slots(pack, unpack, values, 48, arrays="torch").check().takes == {"slots": ["block", "token", "byte"]}

    def lost(values, slots, slot_mapping):
        slots.flatten(0, 1)[slot_mapping] = values.to(torch.float32).view(torch.uint8)

    card = check_slots(lost, unpack, values, 48, arrays="torch")
    assert not card.passed and "which is a copy where blocks do not follow" in card.why[0]


def test_a_copy_of_the_memory(monkeypatch):
    """What a GPU is given; far layouts are left out, as its memory is not reserved lazily."""
    from hybridkv.testing import _array_kinds
    monkeypatch.setitem(_array_kinds.KINDS, "cuda", lambda element: _array_kinds.CopiedArrays(element, "cpu"))
    card = check_attention_kernel(attend, arrays="cuda").check()
    assert card.ran["layouts"]["not_run"] == 4 and card.offset_bits["k"] == {"block": None, "head": None}
    assert not check_write_kernel(write_reshaped, "probes", arrays="cuda").passed


def test_cuda_where_there_is_none():
    import hybridkv
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(hybridkv.InputError, match="PyTorch finds no GPU here; take arrays='torch'"):
        check_attention_kernel(attend, arrays="cuda")


# --------------------------------------------------------------------------------------------------------- Triton

def kernels_in_triton():
    triton = pytest.importorskip("triton", reason="Triton is not installed")
    if os.environ["TRITON_INTERPRET"] != "1":
        pytest.skip("Triton's interpreter is off")
    import triton_kernels
    return triton, triton_kernels


def test_triton_right():
    _, kernels = kernels_in_triton()
    card = check_attention_kernel(kernels.attend, "probes", arrays="torch").check()
    assert card.ran["interpreter"] and card.ran["traced"] and card.over_reads == []
    assert card.offset_bits == {"k": {"block": 64, "head": 64}, "v": {"block": 64, "head": 64}}


def test_triton_language_is_patched_once_a_launch(monkeypatch):
    """The interpreter by itself goes through all of the language for every function that a kernel calls."""
    triton, kernels = kernels_in_triton()
    from triton.runtime import interpreter
    before, patch, patched = dict(vars(triton.language)), interpreter._patch_lang, []
    monkeypatch.setattr(interpreter, "_patch_lang", lambda fn: patched.append(fn) or patch(fn))
    card = check_attention_kernel(kernels.attend, "probes", arrays="torch").check()
    assert card.ran["calls"] <= len(patched) <= 2 * card.ran["calls"]  # of its two modules each
    assert vars(triton.language) == before


def test_triton_argument_of_32_bits():
    _, kernels = kernels_in_triton()
    card = check_attention_kernel(kernels.attend_narrow, "probes", arrays="torch")
    assert card.offset_bits == {"k": {"block": 64, "head": 32}, "v": {"block": 64, "head": 64}}
    assert card.why == ["k: head * stride is computed in 32 bits"]


def test_triton_masked_over_reads():
    _, kernels = kernels_in_triton()
    card = check_attention_kernel(kernels.attend_whole_blocks, "probes", arrays="torch").check()
    assert {(each["what"], each["masked"]) for each in card.over_reads} == {
        ("stale slots of k", True), ("stale slots of v", True)}
    assert all(each["elements"] > 0 for each in card.over_reads) and card.stale_safe
    assert "reads and masks: stale slots of v" in str(card)
