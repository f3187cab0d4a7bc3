"""What layouts do to kernels whose cards are given: as the command line says it."""

import pickle

import hybridkv
import pytest
from conftest import ROOT
from hybridkv import InputError

CARDS = ROOT / "python/hybridkv/testing/cards"
REFUSING, FINE = CARDS / "vllm.reshape_and_cache_flash_diffkv.card.json", CARDS / "vllm.unified_attention.card.json"
KEYS = dict(model="Qwen3.5-4B", memory="8GiB", max_model_len=32768, cache_mode="align", engine="vllm-0.33")
FLAGS = ["--model", "Qwen3.5-4B", "--memory", "8GiB", "--max-model-len", "32768", "--mode", "align", "--engine",
         "vllm-0.33"]

GIVEN = ["--kernels", REFUSING, FINE]


def test_plan(program):
    made = hybridkv.plan(**KEYS, kernels=[REFUSING, FINE])
    said = program("plan", *FLAGS, *GIVEN)["plans"][0]
    assert made.to_dict()["kernels"] == said["kernels"] and made.to_dict()["warnings"] == said["warnings"]
    assert pickle.loads(pickle.dumps(made)).kernels[1].verdict == "fits"
    assert "kernels" not in hybridkv.plan(**KEYS).to_dict()
    packs = hybridkv.plan(**KEYS, attention_pack_size=[1, 2], kernels=FINE)
    assert [len(plan.kernels) for plan in packs] == [1, 1]
    with pytest.raises(InputError, match="kernels are held against views, which detail='numbers' leaves out"):
        hybridkv.plan(**KEYS, kernels=[FINE], detail="numbers")


def test_boot(program):
    made = hybridkv.boot(**KEYS, kernels=[REFUSING, FINE])
    assert made.to_dict() == program("boot", *FLAGS, *GIVEN)
    assert [fit.kernel.split(" ")[0] for fit in made.kernels][1] == "vllm.unified_attention,"
    assert "kernels" not in hybridkv.boot(**KEYS).to_dict()


def test_compare(program):
    made = hybridkv.compare(**KEYS, vary={"attention_pack_size": [1, 2]}, kernels=[REFUSING, FINE])
    said = program("compare", *FLAGS, "--vary", "engine.attention_pack_size=1,2", *GIVEN)
    fits = [setting["kernels"] for setting in said["settings"]]
    assert [setting["kernels"] for setting in made.to_dict()["settings"]] == fits
    assert fits[0][1]["verdict"] == "fits"


def test_recommend(program):
    made = hybridkv.recommend(**KEYS, packs=[1, 2], max_requests=50, kernels=[REFUSING, FINE]).to_dict()
    said = program("recommend", *FLAGS, "--packs", "1,2", "--requests", "50", *GIVEN)
    assert {name: made[name] for name in ("pick", "pick_without_kernels", "kernels", "candidates")} == \
        {name: said[name] for name in ("pick", "pick_without_kernels", "kernels", "candidates")}


def test_one_card_and_what_is_none():
    assert len(hybridkv.boot(**KEYS, kernels=str(FINE)).kernels) == 1
    packs = dict(KEYS, attention_pack_size=[1, 2])
    for question, keys in ((hybridkv.plan, KEYS), (hybridkv.boot, KEYS), (hybridkv.compare, packs), (hybridkv.recommend, KEYS)):
        with pytest.raises(InputError, match="kernels: 3 is no path; give that of a file"):
            question(**keys, kernels=3)
        with pytest.raises(InputError, match="no card of a kernel"):
            question(**keys, kernels=[ROOT / "docs/samples/trace.jsonl"])
    with pytest.raises(InputError, match="no kernel sees where states are kept"):
        hybridkv.recommend(**KEYS, kernels=[FINE], checkpoints=True)
