"""check_engine: what engines allocate by the published strides is fine; every planted fault is caught and named."""

import json
import pathlib
import types

import pytest
from hybridkv.testing import check_engine

ROWS = [json.loads(line) for line in (pathlib.Path(__file__).parent / "data/strides.jsonl").read_text().splitlines()]
IDS = [f"{row['form']} {row['layout']}" for row in ROWS]


def described(row):
    return {f"layers.{number}": {"shape": row["view_shape"], "stride": row["view_strides"], "storage_offset": offset,
                                 "element_size": row["elem_size"], "storage_bytes": row["size"]}
            for number, offset in enumerate(row["storage_offsets"])}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_published_strides(row):
    check_engine(described(row))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_torch(torch, row):
    dtype = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32}[row["elem_size"]]
    storage = torch.zeros(row["size"] // row["elem_size"], dtype=dtype)
    layers = {f"layers.{number}": torch.as_strided(storage, row["view_shape"], row["view_strides"], offset)
              for number, offset in enumerate(row["storage_offsets"])}
    check_engine(layers)
    last = list(layers)[-1]
    moved = torch.as_strided(storage, row["view_shape"], row["view_strides"], row["storage_offsets"][0])
    with pytest.raises(AssertionError, match=f"layers.0 and {last} overlap"):
        check_engine({**layers, last: moved})


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_overlap(row):
    layers = described(row)
    layers["layers.1"]["storage_offset"] = row["storage_offsets"][0] + 1
    with pytest.raises(AssertionError, match=r"layers\.\d and layers\.1 overlap: layers.*\[.*\] both have byte"):
        check_engine(layers)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_outside(row):
    layers = described(row)
    last = list(layers)[-1]
    layers[last]["storage_bytes"] = layers[last]["storage_bytes"] // 2
    with pytest.raises(AssertionError, match=f"{last} reaches outside of storage"):
        check_engine(layers)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_alias(row):
    layers = described(row)
    strides = list(row["view_strides"])
    strides[0] = strides[0] - row["view_shape"][-1] + 1 if row["view_shape"][0] > 1 else 0
    strides[2 if row["view_shape"][2] > 1 else 0] = 1
    layers["layers.0"]["stride"] = strides
    with pytest.raises(AssertionError, match=r"layers\.0 aliases itself: layers\.0\[.*\] and layers\.0\["):
        check_engine(layers)


def page(shape, stride, offset=0, storage_bytes=800):
    return {"shape": shape, "stride": stride, "storage_offset": offset, "element_size": 1,
            "storage_bytes": storage_bytes}


def test_groups_share_blocks_but_not_each_others():
    # Eight pages of 100 bytes: attention as (block, token), a state as (block, element).
    tensors = {"layers.0": page([8, 25, 4], [100, 4, 1]), "layers.1": page([8, 90], [100, 1])}
    groups = [["layers.0"], ["layers.1"]]
    check_engine(tensors, groups=groups)
    config = types.SimpleNamespace(kv_cache_groups=[types.SimpleNamespace(layer_names=names) for names in groups])
    check_engine(config, tensors=tensors)
    with pytest.raises(AssertionError, match="overlap"):
        check_engine(tensors)
    tensors["layers.1"] = page([7, 90], [100, 1], 11)
    with pytest.raises(AssertionError, match="share storage 0 but not its blocks|overlap"):
        check_engine(tensors, groups=groups)
    tensors["layers.1"] = page([8, 90], [100, 1], 11, 801)
    with pytest.raises(AssertionError, match=r"layers.0 and layers.1 overlap: layers.0\[[1-7], 0, 0\]"):
        check_engine(tensors, groups=groups)


def test_kernel_blocks_of_a_page():
    tensors = {"layers.0": page([32, 25], [25, 1]), "layers.1": page([8, 100], [100, 1])}
    check_engine(tensors, groups=[["layers.0"], ["layers.1"]])
    tensors["layers.0"] = page([32, 26], [25, 1], storage_bytes=801)
    with pytest.raises(AssertionError, match="aliases itself"):
        check_engine(tensors, groups=[["layers.0"], ["layers.1"]])


def test_layers_of_the_model():
    import hybridkv
    plan = hybridkv.plan(model="Qwen3.5-0.8B", memory="4GiB", max_model_len=2048, num_blocks=5,
                         engine="vllm-2026-06")
    layers = {}
    groups = [[f"model.layers.{layer}" for layer in group.layers] for group in plan.groups]
    for view in plan.views:
        layers.setdefault(f"model.layers.{view.layer}", []).append(
            {"shape": view.shape, "stride": view.strides, "storage_offset": view.offset, "dtype": view.dtype,
             "storage": view.pool, "storage_bytes": plan["pools"][view.pool].bytes})
    check_engine(layers, groups=groups, model="Qwen3.5-0.8B")
    with pytest.raises(AssertionError, match=r"layers \[0\] of Qwen3.5-0.8B have no tensor"):
        check_engine({k: v for k, v in layers.items() if k != "model.layers.0"}, groups=groups, model="Qwen3.5-0.8B")


def test_numpy():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    storage = np.zeros((4, 2, 10), np.float32)
    check_engine({"layers.0": storage[:, 0], "layers.1": storage[:, 1]})
    with pytest.raises(AssertionError, match="overlap"):
        check_engine({"layers.0": storage[:, 0], "layers.1": storage[:, :, 9]})
