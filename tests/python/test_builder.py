"""The plug-in that `hybridkv emit` writes, in the engine itself where it is installed: what its planning makes of it,
the views that it hands to kernels, and a kernel of it on layouts of packs."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, found_program

PLAN = ["--model", "Qwen3.5-397B-A17B", "--tp", "2", "--memory", "40GiB", "--max-model-len", "32k"]


def emitted(folder, *flags):
    subprocess.run([found_program(), "emit", "vllm-builder", *PLAN, *flags, "-o", str(folder)], check=True, cwd=ROOT)
    return folder


def test_module_needs_no_engine_to_be_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(emitted(tmp_path / "packed", "--pack", "5")))
    import hybridkv_builder

    assert hybridkv_builder.PLAN["layers_per_page"] == 5
    error = hybridkv_builder.PlanMismatch("bytes of a state", 7, 8)
    assert str(error).startswith("hybridkv builder: bytes of a state: 7 here, 8 in the plan of Qwen3.5-397B-A17B.")
    monkeypatch.setattr(hybridkv_builder.importlib.metadata, "version", lambda name: "0.34.0")
    with pytest.raises(hybridkv_builder.PlanMismatch, match="the version of vLLM: 0.34.0 here, 0.33.0 in the plan"):
        hybridkv_builder.register()
    del sys.modules["hybridkv_builder"]


@pytest.mark.parametrize("pack", [1, 2, 4, 5])
def test_engine_plans_it(tmp_path, pack):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = emitted(tmp_path / "packed", "--pack", str(pack))
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_builder.py"], cwd=folder,
                         capture_output=True, text=True, env={**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"})
    assert ran.returncode == 0, ran.stdout[-4000:]


VIEWS = """
import sys, torch
import hybridkv_builder as builder, test_builder as emitted
from hybridkv.testing import check_engine
from vllm.v1.core.kv_cache_planning import get_global_kv_cache_groups
from vllm.v1.kv_cache_interface import create_kv_cache_views
from vllm.v1.kv_cache_layout import KVCacheLayout
builder.register()
config = emitted.configuration()
builder.set_block(config)
specs = emitted.layers_of(config)
caches = builder.PlanBuilder().get_kv_cache_config_from_groups(config, get_global_kv_cache_groups(config, [specs]), 3)
raw = torch.zeros(caches.kv_cache_tensors[0].size, dtype=torch.int8)
for tensor in caches.kv_cache_tensors:
    views = create_kv_cache_views(raw, specs[tensor.layers[0]], 3, KVCacheLayout[builder.PLAN["order"]], tensor)
    check_engine(dict(zip(tensor.layers, views)))
print(len(caches.kv_cache_tensors), "groups are right")
"""


@pytest.mark.parametrize("pack", [1, 2, 4, 5])
def test_views_of_the_engine_are_right(tmp_path, pack):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = emitted(tmp_path / "packed", "--pack", str(pack))
    here = {"VLLM_LOGGING_LEVEL": "ERROR", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", VIEWS], cwd=folder, capture_output=True, text=True,
                         env={**os.environ, **here})
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.endswith("groups are right\n")


KERNEL = """
import hybridkv, of_vllm, sys
from hybridkv.testing import check_attention_kernel
plan = hybridkv.plan(model="Qwen3.5-0.8B", memory="256MiB", max_model_len=512, attention_pack_size=int(sys.argv[1]))
card = check_attention_kernel(of_vllm.unified_attention, layouts=plan, arrays="torch", package="vllm").check()
print(card)
"""


@pytest.mark.parametrize("pack", [1, 2, 4, 5])
def test_unified_attention_of_the_engine(pack):
    """In Triton's interpreter, which vLLM leaves out where it finds no GPU and is not told that there is none."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    here = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "VLLM_LOGGING_LEVEL": "ERROR",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "engines/kernels"), *filter(None, sys.path)])}
    ran = subprocess.run([sys.executable, "-c", KERNEL, str(pack)], capture_output=True, text=True,
                         env={**os.environ, **here})
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    assert "right" in ran.stdout
