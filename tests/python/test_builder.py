"""The plug-in that `hybridkv emit` writes, in the engine itself where it is installed: what its planning makes of it,
the views that it hands to kernels, and a kernel of it on layouts of packs."""

import json
import os
import subprocess
import sys

import numpy as np
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


def written_by_case(folder):
    """Bytes that the layers of a case write through the strides of its plan, and how many K and V are."""
    views = {int(row[0]): row[1:] for row in np.load(folder / "views.npy")}
    case = folder / "full_attention_1"
    facts = json.loads((case / "case.json").read_text())
    table, lengths = np.load(case / "block_table.npy"), np.load(case / "lengths.npy")
    heads, channels = np.load(case / "k.npy").shape[1:]
    bytes_of_head = 2 * 2 * channels
    written, count = set(), 0
    for layer in facts["layers"]:
        begin, block, head, token, _ = views[layer]
        for request, length in enumerate(lengths):
            at = np.arange(length)
            fronts = begin + table[request][at // facts["block_tokens"]] * block + at % facts["block_tokens"] * token
            for h in range(heads):
                written.update((fronts + h * head).tolist())
                count += len(fronts)
    ordered = np.sort(np.fromiter(written, dtype=np.int64))
    return len(written) == count and int(np.diff(ordered).min()) >= bytes_of_head


@pytest.mark.parametrize("pack, order", [(1, "LBNHC"), (1, "BLHNC"), (3, "BLNHC"), (5, "BLHNC"), (5, "BLNHC")])
def test_cases_need_numpy_alone(tmp_path, pack, order):
    """Their strides keep all K and V apart, which others do not, and their result is attention."""
    flags = ["--pack", str(pack), "--set", f"engine.physical_order={order}"]
    folder = emitted(tmp_path / "packed", *flags) / "cases"
    assert written_by_case(folder)
    case = folder / "full_attention_1"
    q, k, v, out = (np.load(case / f"{name}.npy").astype(np.float64) for name in ("q", "k", "v", "out"))
    lengths, scale = np.load(case / "lengths.npy"), json.loads((case / "case.json").read_text())["scale"]
    for layer, request in ((0, 2), (len(out) - 1, 1)):
        rows = (np.arange(lengths[request]) + 11 * request + 5 * layer) % len(k)
        weights = np.exp(q[request] @ k[rows, 0].T * scale)
        np.testing.assert_allclose((weights / weights.sum(1, keepdims=True)) @ v[rows, 0], out[layer, request], atol=1e-6)
    views = np.load(folder / "views.npy")
    views[:, 2] = views[:, 4]  # blocks as far apart as tokens
    np.save(folder / "views.npy", views)
    assert not written_by_case(folder)


def run_emitted_test(folder):
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_builder.py"],
                          cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "VLLM_LOGGING_LEVEL": "ERROR"})


@pytest.mark.parametrize("pack", [1, 2, 4, 5])
def test_engine_plans_it(tmp_path, pack):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = emitted(tmp_path / "packed", "--pack", str(pack))
    ran = run_emitted_test(folder)
    assert ran.returncode == 0, ran.stdout[-4000:]


@pytest.mark.parametrize("file, at, failed", [
    ("views.npy", (3, 2), ["test_views_have_the_strides_of_the_cases"]),
    ("full_attention_1/out.npy", (0, 0, 0, 0), ["test_attention_through_the_views"]),
])
def test_emitted_test_finds_what_differs(tmp_path, file, at, failed):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = emitted(tmp_path / "packed", "--pack", "5")
    array = np.load(folder / "cases" / file)
    array[at] += 2
    np.save(folder / "cases" / file, array)
    ran = run_emitted_test(folder)
    assert ran.returncode == 1
    for name in failed:
        assert f"FAILED test_builder.py::{name}" in ran.stdout, ran.stdout[-4000:]


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
