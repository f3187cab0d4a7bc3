"""The other questions say what the command line says."""

import json
import pathlib

import hybridkv
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "docs/samples/trace.jsonl"
KEYS = dict(model="Qwen3.5-4B", memory="8GiB", max_model_len=32768, cache_mode="align")
FLAGS = ["--model", "Qwen3.5-4B", "--memory", "8GiB", "--max-model-len", "32768", "--mode", "align"]


def test_explain(program):
    said = program("explain", *FLAGS)
    made = hybridkv.explain(**KEYS)
    assert made.to_dict() == said
    assert "num_blocks" in str(made)
    assert "source" in str(made.plans[0].derivation[0])


def test_simulate(program):
    said = program("simulate", *FLAGS, "--trace", TRACE)
    made = hybridkv.simulate(**KEYS, trace=str(TRACE))
    assert made.to_dict() == said


def test_simulate_by_a_clock(program):
    said = program("simulate", *FLAGS, "--trace", TRACE, "--gpu", "H200", "--ttft", "1s")
    made = hybridkv.simulate(**KEYS, trace=str(TRACE), gpu="H200", ttft_seconds=1)
    assert made.to_dict() == said
    assert said["caches"][0]["times"]["gpu"] == "H200"


def test_simulate_radix(program):
    said = program("simulate", *FLAGS, "--trace", TRACE, "--engine", "sglang-0.5.23")
    made = hybridkv.simulate(**KEYS, trace=str(TRACE), engine="sglang-0.5.23")
    assert made.to_dict() == said
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    assert made.records.dtype["kv_match_tokens"] == numpy.int64


def test_simulate_slots(program):
    said = program("simulate", *FLAGS, "--trace", TRACE, "--engine", "llama.cpp")
    made = hybridkv.simulate(**KEYS, trace=str(TRACE), engine="llama.cpp")
    assert made.to_dict() == said
    pytest.importorskip("numpy", reason="NumPy is not installed")
    assert made.records["hit_tokens"].sum() == said["caches"][0]["hit_tokens"]
    assert made.records["slot"].max() < said["caches"][0]["slots"]


class Request:
    def __init__(self, fields):
        self.arrival = fields["timestamp"]
        self.input_length, self.output_length = fields["input_length"], fields["output_length"]
        self.hash_ids = fields["hash_ids"]


def as_tuple(fields):
    return fields["timestamp"], fields["input_length"], fields["output_length"], fields["hash_ids"]


def test_simulate_takes_any_requests():
    lines = [json.loads(line) for line in TRACE.read_text().splitlines()]
    wanted = hybridkv.simulate(**KEYS, trace=TRACE).to_dict()
    renamed = ({**{k: v for k, v in line.items() if k != "timestamp"}, "arrival": line["timestamp"]} for line in lines)
    for requests in (lines, map(Request, lines), (as_tuple(line) for line in lines), renamed):
        made = hybridkv.simulate(requests=requests, **KEYS).to_dict()
        assert "requests given in Python" in made["trace"] and "/tmp" not in made["trace"]
        assert {**made, "trace": ""} == {**wanted, "trace": ""}
    assert hybridkv.simulate(None, iter(lines), **KEYS).to_dict() == hybridkv.simulate(requests=lines, **KEYS).to_dict()
    with pytest.raises(hybridkv.InputError, match="requests"):
        hybridkv.simulate(requests=lines, trace=TRACE, **KEYS)
    with pytest.raises(hybridkv.InputError):
        hybridkv.simulate(requests=[{"input_length": -1}], **KEYS)


def test_records_are_not_copied():
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    made = hybridkv.simulate(**KEYS, max_requests=500)
    records = made.records
    assert len(records) == 500 and records.base is not None and not records.flags.owndata
    assert sorted(records["index"]) == list(range(500))
    assert made.statuses[records["status"][0]] == "ok"
    row = made.to_dict()["caches"][0] if "caches" in made else None
    assert row is None or int(records["hit_tokens"].sum()) == row["hit_tokens"]
    del made
    assert records["input_length"].min() > 0 and numpy.all(records["first_token_seconds"] >= 0)
    with pytest.raises(hybridkv.InputError, match="records=True"):
        hybridkv.simulate(**KEYS, max_requests=5, records=False).records


def test_losses_where_nothing_caches_and_no_layer_is_attention(program, tmp_path):
    file = tmp_path / "states.yaml"
    file.write_text("name: states\nsource: hand-written\ndtype: bf16\nkinds:\n  m: {type: mamba2, heads: 4, "
                    "head_dim: 64, state_size: 16, groups: 1, conv_kernel: 4, chunk_size: 64}\nlayers: \"mm\"\n")
    said = program("simulate", "--model", file, "--memory", "64M", "--max-model-len", "4k", "--mode", "none",
                   "--requests", "40", "--losses")
    made = hybridkv.simulate(model=file, memory="64MiB", max_model_len=4096, cache_mode="none", max_requests=40,
                             losses=True)
    assert made.to_dict() == said
    losses = made.to_dict()["caches"][0]["losses"]
    assert losses["found_tokens"] == 0 and sum(losses["lost"].values()) == losses["token_exact_tokens"] > 0


def test_fleet(program):
    said = program("simulate", *FLAGS, "--requests", "200", "--replicas", "3", "--router", "session,states",
                   "--router-delay", "100ms")
    made = hybridkv.fleet(**KEYS, max_requests=200, replicas=3, router=["session", "states"], router_delay_seconds=0.1)
    assert made.to_dict() == said
    assert [row.router for row in made.routers] == ["session", "states"]
    requests = [(1000 * i, 3000, 100, [1, 2, 3, 4, 5, 100 + i]) for i in range(20)]
    assert "requests given in Python" in hybridkv.fleet(**KEYS, requests=requests, replicas=2).trace
    with pytest.raises(hybridkv.InputError, match="hybridkv.fleet"):
        hybridkv.simulate(**KEYS, replicas=3)
    with pytest.raises(hybridkv.InputError, match="replicas=4"):
        hybridkv.fleet(**KEYS)


def test_bound(program):
    said = program("bound", *FLAGS, "--requests", "200", "--pack", "1,2")
    assert hybridkv.bound(**KEYS, max_requests=200, attention_pack_size=[1, 2]).to_dict() == said


def named(comparison):
    """As Python calls a scenario of keywords alone."""
    for setting in comparison["settings"]:
        setting["scenario"] = "scenario"
    return comparison


def test_compare(program):
    said = named(program("compare", *FLAGS, "--vary", "engine.kv_dtype=bf16,fp8"))
    made = hybridkv.compare(**KEYS, vary={"kv_dtype": ["bf16", "fp8"]})
    assert made.to_dict() == said
    assert made.differences()
    said = named(program("compare", *FLAGS, "--engine", "vllm-2026-06,vllm-0.33", "--requests", "100"))
    made = hybridkv.compare(**KEYS, vary={"engine": ["vllm-2026-06", "vllm-0.33"]}, max_requests=100, replay=True)
    assert made.to_dict() == said
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert list(made.to_pandas().columns) == [setting.name for setting in made.settings]


def test_import_config(program):
    config = ROOT / "docs/samples/sample-hybrid/config.json"
    made = hybridkv.import_config(config)
    assert made.yaml == hybridkv.import_config(str(config)).yaml
    with pytest.raises(hybridkv.InputError):
        hybridkv.import_config({"model_type": "unheard-of"})
    with pytest.raises(hybridkv.InputError, match="dtype"):
        hybridkv.import_config(config, dtype="fp99")
