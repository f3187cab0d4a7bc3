"""Plans: the numbers of the command line, from whatever says the question."""

import json
import os
import pathlib
import pickle

import hybridkv
import pytest

QWEN = dict(model="Qwen3.5-397B-A17B", engine="vllm-2026-06", tensor_parallel=2, memory="40GiB", max_model_len=32768)
ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "docs/samples/sample-hybrid/config.json"


def test_issue_example():
    assert hybridkv.plan(**QWEN, attention_pack_size=5).num_blocks == 6472


@pytest.mark.parametrize("model", hybridkv.model_names())
def test_every_model_says_what_the_program_says(model, program):
    packs = [1] if model == "MiniMax-M3" else [1, 2]  # its attention reads no order in which packs lie
    said = program("plan", "--model", model, "--memory", "200GiB", "--max-model-len", "8192", "--pack",
                   ",".join(map(str, packs)))
    made = hybridkv.plan(model=model, memory="200GiB", max_model_len=8192, attention_pack_size=packs)
    assert json.loads(made.to_json()) == said
    numbers = hybridkv.plan(model=model, memory="200GiB", max_model_len=8192, detail="numbers").to_dict()
    one = program("plan", "--model", model, "--memory", "200GiB", "--max-model-len", "8192", "--pack", "1")["plans"][0]
    left_out = ("views", "derivation")
    assert {k: v for k, v in numbers.items() if k not in left_out} == {
        k: v for k, v in one.items() if k not in left_out}
    assert not numbers["views"] and not numbers["derivation"]


@pytest.mark.parametrize("engine", ["vllm-0.33", "sglang-0.5.23", "tensorrt-llm", "llama.cpp"])
def test_other_engines(engine, program):
    own = {"max_batch_size": 64} if engine == "tensorrt-llm" else {}  # 20 GiB do not hold the states of 2,048 requests
    flags = [word for key, value in own.items() for word in ("--set", f"engine.{key}={value}")]
    said = program("plan", "--model", "Qwen3.5-4B", "--memory", "20GiB", "--max-model-len", "32k", "--engine", engine,
                   *flags)
    made = hybridkv.plan(model="Qwen3.5-4B", memory="20GiB", max_model_len="32k", engine=engine, **own)
    assert made.to_dict() == said["plans"][0]
    assert (made.model, made.strategy) == (said["model"], said["strategy"])


def test_fast_and_long_way_agree():
    for pack in (1, 2, 3, 5, 15):
        keys = dict(QWEN, attention_pack_size=pack)
        fast, full = hybridkv.plan(detail="numbers", **keys), hybridkv.plan(**keys)
        for name in ("num_blocks", "usable_blocks", "page_bytes", "capacity", "waste", "prefix", "warnings"):
            assert getattr(fast, name) == getattr(full, name), name


def test_fast_way_notices_a_changed_file(tmp_path):
    file = tmp_path / "model.yaml"
    keys = dict(model=file, memory="20GiB", max_model_len=4096, detail="numbers")
    text = hybridkv.import_config(CONFIG).yaml
    file.write_text(text)
    before = hybridkv.plan(**keys)
    assert before == hybridkv.plan(**keys)
    lines = text.count("dtype: bfloat16"), text.count("dtype: bf16")
    assert any(lines)
    file.write_text(text.replace("dtype: bfloat16", "dtype: fp32").replace("dtype: bf16", "dtype: fp32"))
    assert hybridkv.plan(**keys).num_blocks < before.num_blocks


def test_fast_way_tells_folders_apart(tmp_path, monkeypatch):
    text = hybridkv.import_config(CONFIG).yaml
    keys = dict(model="model.yaml", memory="20GiB", max_model_len=4096, detail="numbers")
    blocks = []
    for name, written in (("a", text), ("b", text.replace("bfloat16", "float32 ").replace("bf16", "fp32"))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.yaml").write_text(written)
        os.utime(folder / "model.yaml", (10, 10))
        monkeypatch.chdir(folder)
        blocks.append(hybridkv.plan(**keys).num_blocks)
    assert blocks[0] > blocks[1]


def test_forms_of_a_question(tmp_path):
    wanted = hybridkv.plan(**QWEN, attention_pack_size=3).to_dict()
    scenario = {"model": QWEN["model"], "engine": {"release": QWEN["engine"], "tensor_parallel": 2, "memory": "40GiB", "attention_pack_size": 3},
                "limits": {"max_model_len": 32768}}
    assert hybridkv.plan(scenario).to_dict() == wanted
    assert hybridkv.plan(engine=scenario["engine"], limits=scenario["limits"], model=QWEN["model"]) == wanted
    assert hybridkv.plan(scenario, **{"engine.attention_pack_size": 5}).attention_pack_size == 5
    file = tmp_path / "asked.yaml"
    file.write_text(json.dumps(scenario))
    assert hybridkv.plan(file).to_dict() == hybridkv.plan(str(file)).to_dict() == wanted
    assert hybridkv.plan(file, tensor_parallel=4).tensor_parallel == 4
    assert hybridkv.plan("qwen3.5-397b", attention_pack_size=5, cache_mode="none").num_blocks == 6472


class Config:
    """What a config of transformers looks like."""

    def __init__(self, fields):
        self.fields = fields

    def to_dict(self):
        return {**self.fields, "torch_dtype": self.fields.get("torch_dtype", "bfloat16")}


@pytest.mark.filterwarnings("ignore::hybridkv.AssumptionWarning")
def test_configs_of_models():
    fields = json.loads(CONFIG.read_text())
    keys = dict(memory="20GiB", max_model_len=4096)
    wanted = hybridkv.plan(model=CONFIG, **keys).num_blocks
    assert hybridkv.plan(model=fields, **keys).num_blocks == wanted
    assert hybridkv.plan(model=Config(fields), **keys).num_blocks == wanted
    assert hybridkv.plan(Config(fields), **keys).num_blocks == wanted
    imported = hybridkv.import_config(Config(fields), name="mine")
    assert imported.name == "mine" and "mine" in imported.yaml


def test_several_packs_are_a_sequence():
    plans = hybridkv.plan(**QWEN, attention_pack_size="1..3")
    assert [plan.attention_pack_size for plan in plans] == [1, 2, 3]
    assert len(plans[1:]) == 2 and plans[-1].attention_pack_size == 3
    assert "Qwen3.5-397B" in plans._repr_html_()


def test_what_people_see():
    plan = hybridkv.plan(**QWEN, attention_pack_size=5)
    assert "num_blocks=6472" in repr(plan)
    assert "6,472" in plan._repr_html_()
    assert "num_blocks = 6472" in plan.explain("num_blocks")
    assert "floor(memory / P)" in plan.explain("num_blocks")
    assert "2211840" in plan.explain("page_bytes")
    assert "num_blocks" in plan.explain()
    assert {"num_blocks", "capacity", "view"} <= set(dir(plan))
    with pytest.raises(hybridkv.InputError, match="did you mean 'num_blocks'"):
        plan.explain("num_blokcs")
    with pytest.raises(AttributeError, match="did you mean 'num_blocks'"):
        plan.num_block
    with pytest.raises(AttributeError, match="do not change"):
        plan.num_blocks = 3


def test_plans_travel():
    for detail in ("full", "numbers"):
        plan = hybridkv.plan(**QWEN, attention_pack_size=5, detail=detail)
        assert pickle.loads(pickle.dumps(plan)) == plan


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plans = hybridkv.plan(**QWEN, attention_pack_size=[1, 5])
    assert plans.to_pandas()["num_blocks"].tolist() == [plan.num_blocks for plan in plans]
    assert plans[0].capacity.to_pandas()["max_model_len"].tolist() == [32768]
    assert isinstance(plans[0].views.to_pandas(), pandas.DataFrame)


@pytest.mark.parametrize("keys, field, value, place, remedy", [
    (dict(QWEN, tensor_parallel=0), "engine.tensor_parallel", 0, "tensor_parallel=0", "allowed"),
    (dict(QWEN, tensor_paralel=2), "tensor_paralel", 2, "tensor_paralel", "did you mean 'tensor_parallel'"),
    (dict(QWEN, engine="vllm-0.3"), "engine.release", "vllm-0.3", "engine='vllm-0.3'", "vllm-0.33"),
    (dict(QWEN, model="Qwen3.5-397"), "model", "Qwen3.5-397", "model='Qwen3.5-397'", "did you mean"),
    (dict(QWEN, memory="4 bananas"), "engine.memory", "4 bananas", "memory='4 bananas'", None),
])
def test_errors_say_what_where_and_what_instead(keys, field, value, place, remedy):
    for detail in ("full", "numbers"):
        with pytest.raises(hybridkv.InputError) as caught:
            hybridkv.plan(detail=detail, **keys)
        error = caught.value
        assert isinstance(error, ValueError)
        assert (error.field, error.value, error.place) == (field, value, place)
        assert remedy is None or remedy in error.remedy
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.field, again.value) == (str(error), field, value)


def test_errors_in_files_have_lines(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("model: Qwen3.5-4B\nengine:\n  memory: 20GiB\n  tensor_parallel: 0\nlimits: {max_model_len: 4096}\n")
    with pytest.raises(hybridkv.InputError) as caught:
        hybridkv.plan(file)
    assert caught.value.place.endswith("bad.yaml:4:20")


def test_strange_values_are_refused():
    for bad in ({"tensor_parallel": object()}, {"tensor_parallel": {1: 2}}, {"memory": float("nan")}):
        with pytest.raises(hybridkv.InputError):
            hybridkv.plan(**{**QWEN, **bad})
    loop = []
    loop.append(loop)
    with pytest.raises(hybridkv.InputError):
        hybridkv.plan(**{**QWEN, "kernel_block_sizes": loop})
    with pytest.raises(hybridkv.InputError):
        hybridkv.plan(42)
    with pytest.raises(hybridkv.InputError, match="detail"):
        hybridkv.plan(**QWEN, detail="ful")
