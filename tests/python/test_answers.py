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


def test_simulate_radix(program):
    said = program("simulate", *FLAGS, "--trace", TRACE, "--engine", "sglang-0.5.23")
    made = hybridkv.simulate(**KEYS, trace=str(TRACE), engine="sglang-0.5.23")
    assert made.to_dict() == said
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    assert made.records.dtype["kv_match_tokens"] == numpy.int64


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


def test_recommend(program):
    said = program("recommend", *FLAGS, "--requests", "100", "--packs", "1,2", "--modes", "align")
    made = hybridkv.recommend(**KEYS, max_requests=100, packs=[1, 2], modes=["align"]).to_dict()
    for of_a_shell in ("commands", "commands_without_packing"):
        said.pop(of_a_shell, None), made.pop(of_a_shell, None)
    assert made == said
    with pytest.raises(hybridkv.InputError, match="did you mean 'align'"):
        hybridkv.recommend(**KEYS, modes=["alin"])
    with pytest.raises(hybridkv.InputError, match="engines with blocks"):
        hybridkv.recommend(**KEYS, engine="sglang-0.5.23", packs=[1, 2])


def test_transfer(program):
    said = program("transfer", "qwen3.5-397b", "--pack", "1", "--to-set", "engine.tensor_parallel=4", "--tokens", "4096")
    made = hybridkv.transfer("qwen3.5-397b", attention_pack_size=1, to_keys={"tensor_parallel": 4}, tokens=4096)
    assert made.to_dict() == said
    with pytest.raises(hybridkv.InputError, match="ids"):
        hybridkv.transfer("qwen3.5-397b", attention_pack_size=1, ids="mixed")


TIMES = ("seconds", "resident_bytes", "peak_process_bytes", "reserved_bytes")


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_verify(program):
    small = ["--set", "engine.num_blocks=12", "--max-model-len", "1024"]
    said = program("verify", "--model", "Qwen3.5-0.8B", *small, "--pack", "2")
    made = hybridkv.verify(model="Qwen3.5-0.8B", num_blocks=12, max_model_len=1024, attention_pack_size=2)
    assert made.passed and without_times(made.to_dict()) == without_times(said)
    with pytest.raises(hybridkv.InputError, match="is no fault"):
        hybridkv.verify(model="Qwen3.5-0.8B", num_blocks=12, max_model_len=1024, inject="none-such")


def test_planted_faults_are_caught():
    made = hybridkv.verify(model="Qwen3.5-0.8B", num_blocks=12, max_model_len=1024, attention_pack_size=2,
                           inject="zero-full-page")
    assert not made.passed


def test_import_config(program):
    config = ROOT / "docs/samples/sample-hybrid/config.json"
    made = hybridkv.import_config(config)
    assert made.yaml == hybridkv.import_config(str(config)).yaml
    with pytest.raises(hybridkv.InputError):
        hybridkv.import_config({"model_type": "unheard-of"})
    with pytest.raises(hybridkv.InputError, match="dtype"):
        hybridkv.import_config(config, dtype="fp99")
