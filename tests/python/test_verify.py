"""verify says what the command line says: of one layer's pools, and of a network's forward pass."""

import hybridkv
import pytest

SMALL = dict(model="Qwen3.5-0.8B", engine="vllm-2026-06", num_blocks=12, max_model_len=1024)
FLAGS = ["--model", "Qwen3.5-0.8B", "--engine", "vllm-2026-06", "--set", "engine.num_blocks=12", "--max-model-len",
         "1024"]
# Forward passes size their pools themselves; not every engine takes a number of blocks.
ROOMY = dict(model="Qwen3.5-0.8B", memory="4GiB", max_model_len=1024)
ROOMY_FLAGS = ["--model", "Qwen3.5-0.8B", "--memory", "4GiB", "--max-model-len", "1024"]
TIMES = ("seconds", "resident_bytes", "peak_process_bytes", "reserved_bytes")


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_verify(program):
    said = program("verify", *FLAGS, "--pack", "2")
    made = hybridkv.verify(**SMALL, attention_pack_size=2)
    assert made.passed and without_times(made.to_dict()) == without_times(said)


def test_planted_faults_are_caught():
    made = hybridkv.verify(**SMALL, attention_pack_size=2, inject="zero-full-page")
    assert not made.passed


@pytest.mark.parametrize("flags, keys", [
    (["--pack", "1,2"], dict(attention_pack_size=[1, 2])),
    (["--pack", "2", "--scale", "32", "--case", "resume", "--case", "shared-prefix"],
     dict(attention_pack_size=2, scale=32, cases=["resume", "shared-prefix"])),
    (["--pack", "2", "--inject", "missed-state-copy"], dict(attention_pack_size=2, inject="missed-state-copy")),
    (["--pack", "2", "--inject", "stride-order"], dict(attention_pack_size=2, inject="stride-order")),
    (["--pack", "1", "--inject", "all"], dict(attention_pack_size=1, inject="all")),
    (["--pack", "1", "--engine", "sglang-0.5.23"], dict(attention_pack_size=1, engine="sglang-0.5.23")),
    (["--pack", "1", "--engine", "llama.cpp", "--case", "resume"],
     dict(attention_pack_size=1, engine="llama.cpp", cases="resume")),
], ids=["packs", "cases", "a fault of an engine", "a fault of the layout", "all faults", "a tree", "slots"])
def test_forward(program, flags, keys):
    said = program("verify", "--forward", *ROOMY_FLAGS, *flags)
    made = hybridkv.verify(**ROOMY, **keys, forward=True)
    assert isinstance(made, hybridkv.ForwardVerification) and made.to_dict() == said
    assert made.passed == ("inject" not in keys)
    assert {row.model for row in made.results} == {"Qwen3.5-0.8B"}


def test_forward_tells_how_far_it_is():
    told = []
    hybridkv.verify(**SMALL, forward=True, progress=lambda *at: told.append(at))
    assert all(what.startswith("N = 1, run 1 of 1") and 0 <= done <= total for what, done, total in told)


@pytest.mark.parametrize("keys, field, problem, remedy", [
    (dict(inject="none-such"), "inject", "'none-such' is no fault", "allowed: all, stride-order"),
    (dict(inject="missed-state-cpy", forward=True), "inject", "did you mean 'missed-state-copy'", "allowed: all"),
    (dict(inject=[3]), "inject", "3 is no name", "give a str"),
    (dict(cases=["resum"], forward=True), "cases", "'resum' is no case", "allowed: "),
    (dict(scale=0, forward=True), "scale", "0 is too small", "allowed: whole numbers from 1"),
    (dict(scale=1.5, forward=True), "scale", "1.5 is no whole number", "allowed: whole numbers from 1"),
    (dict(scale=-2, forward=True), "scale", "-2 is too small", "allowed: whole numbers from 1"),
    (dict(scale=4), "scale", "belongs to the forward pass", "give forward=True too"),
    (dict(cases="resume"), "cases", "belongs to the forward pass", "give forward=True too"),
    (dict(forwrd=True), "forwrd", "nor an argument is called so", "did you mean 'forward'?"),
    (dict(tensor_paralel=2, forward=True), "tensor_paralel", "called so", "did you mean 'tensor_parallel'?"),
    (dict(tensor_parallel=0, forward=True), "engine.tensor_parallel", "0", "allowed: whole numbers from 1"),
])
def test_what_it_does_not_take(keys, field, problem, remedy):
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.verify(**{**SMALL, **keys})
    error = caught.value
    assert error.field == field and problem in str(error), str(error)
    assert error.remedy and error.remedy.startswith(remedy)
    name = field.rpartition(".")[2]
    assert error.value == keys[name] or [error.value] == keys[name]
    assert error.place.startswith(name)
