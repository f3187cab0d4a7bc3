"""Boot, traces and models say what the command line says."""

import pathlib

import hybridkv
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "docs/samples/trace.jsonl"


def test_boot(program):
    flags = ["--model", "Qwen3.5-27B", "--max-model-len", "128k", "--gpu", "H100", "--max-num-seqs", "64"]
    made = hybridkv.boot(model="Qwen3.5-27B", max_model_len="128k", gpu="H100", max_num_seqs=64)
    assert made.to_dict() == program("boot", *flags)
    assert made.boots and made.result == "boots"


def test_boot_of_measured_sizes(program):
    flags = ["--model", "Qwen3.5-4B", "--max-model-len", "32k", "--gpu-memory", "24GB", "--utilization", "0.85",
             "--weights", "9078531072", "--beside", "2GiB", "--enforce-eager"]
    made = hybridkv.boot(model="Qwen3.5-4B", max_model_len="32k", gpu_memory="24GB", utilization=0.85,
                         weights=9078531072, beside="2GiB", enforce_eager=True)
    assert made.to_dict() == program("boot", *flags)


def test_what_does_not_start_says_what_does():
    made = hybridkv.boot(model="Qwen3.5-4B", max_model_len="256k", memory="1GiB")
    assert not made.boots
    assert made["try"][0].command.startswith("hybridkv boot --model Qwen3.5-4B")


@pytest.mark.parametrize("words, place", [
    (dict(gpu="H1000"), "gpu"), (dict(gpu_memory="much"), "gpu_memory"), (dict(gpu="H100", utilization=2), "utilization"),
    (dict(weights="9GiB"), "weights"), (dict(max_num_seqs=0), "max_num_seqs"), (dict(gpu=5j), "gpu")])
def test_words_that_are_wrong(words, place):
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.boot(model="Qwen3.5-4B", max_model_len="32k", **words)
    assert place in str(caught.value)


def test_trace(program):
    assert hybridkv.trace(TRACE).to_dict() == program("trace", TRACE)
    with_bytes = hybridkv.trace(TRACE, "qwen3.5-397b")
    assert with_bytes.to_dict() == program("trace", TRACE, "qwen3.5-397b")
    made_up = hybridkv.trace(max_requests=40, **{"simulate.trace.synthetic.seed": 5})
    assert made_up.to_dict() == program("trace", "--made-up", "--requests", 40, "--seed", 5)
    with pytest.raises(hybridkv.InputError):
        hybridkv.trace("no such trace.jsonl")
    with pytest.raises(hybridkv.InputError):
        hybridkv.trace(5)


def test_audit(program):
    samples = ROOT / "docs" / "samples"
    right = hybridkv.audit(samples / "recording.jsonl")
    assert right.is_right and right.hits == 12 and not right.findings
    wrong = hybridkv.audit(str(samples / "recording-wrong.jsonl"))
    assert wrong.findings[0].fault == "other_prefix" and not wrong.is_right
    assert wrong.to_dict() == program("audit", samples / "recording-wrong.jsonl")
    with pytest.raises(hybridkv.InputError, match="this is no recording"):
        hybridkv.audit(samples / "trace.jsonl")
    with pytest.raises(hybridkv.InputError, match="5 is no path"):
        hybridkv.audit(5)


def test_doctor(program):
    log = ROOT / "docs/samples/server.txt"
    assert hybridkv.doctor(log).to_dict() == program("doctor", log)
    assert not hybridkv.doctor(log).contradictions
    with_trace = hybridkv.doctor(log, trace=TRACE)
    assert with_trace.to_dict() == program("doctor", log, "--trace", TRACE)
    with pytest.raises(hybridkv.InputError):
        hybridkv.doctor(ROOT / "README.md")
    with pytest.raises(hybridkv.InputError):
        hybridkv.doctor(5)


def test_models(program):
    assert [one.to_dict() for one in hybridkv.models()] == program("models")
    assert [one.model for one in hybridkv.models("Qwen3.5-4B")] == ["Qwen3.5-4B"]
    assert {one.family for one in hybridkv.models(family="kda")} == {"kda"}
    assert len(hybridkv.models("no such model")) == 0


def test_one_number(program):
    flags = ["--model", "Qwen3.5-4B", "--memory", "8GiB", "--max-model-len", "32768"]
    keys = dict(model="Qwen3.5-4B", memory="8GiB", max_model_len=32768)
    blocks = hybridkv.plan(**keys).num_blocks
    made = hybridkv.explain(number=blocks, **keys)
    assert made.to_dict() == program("explain", str(blocks), *flags)
    assert f"where {blocks} comes from" in str(made)
    with pytest.raises(hybridkv.InputError, match="is no number"):
        hybridkv.explain(number="some", **keys)
