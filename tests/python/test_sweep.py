"""Sweeps: the rows of the command line, in the order of the grid, wherever they are made."""

import concurrent.futures
import json
import os
import subprocess

import hybridkv
import pytest

KEYS = dict(memory="20GiB", max_model_len=8192)
GRID = dict(KEYS, model=["Qwen3.5-4B", "Qwen3.5-9B"], attention_pack_size=[1, 2, 3], tensor_parallel=[1, 2, 3])


def test_rows_are_those_of_the_program():
    program = os.environ.get("HYBRIDKV_PROGRAM")
    if not program:
        pytest.skip("the program hybridkv is not here: set HYBRIDKV_PROGRAM")
    said = subprocess.run([program, "sweep", "--model", "Qwen3.5-4B", "--memory", "20GiB", "--max-model-len", "8192",
                           "--pack", "1,2,3", "--tp", "1,2,3"], capture_output=True, text=True, check=True).stdout
    # Keywords in the order of the flags' keys, which is that of the axes.
    made = hybridkv.sweep(model="Qwen3.5-4B", attention_pack_size=[1, 2, 3], tensor_parallel=[1, 2, 3], **KEYS)
    rows = [json.loads(line) for line in said.splitlines()]
    for row in rows + made.to_dict():
        assert row["sweep"]
    # The name of a sweep is made of all its text, of which flags and keywords spell some differently.
    assert [{**row, "sweep": ""} for row in made.to_dict()] == [{**row, "sweep": ""} for row in rows]


def test_points_that_cannot_be_say_why():
    rows = hybridkv.sweep(**dict(KEYS, model="Qwen3.5-4B", tensor_parallel=[1, 3]))
    assert [row.status for row in rows] == ["ok", "impossible"] and rows[1].reason


def expected():
    return hybridkv.sweep(**GRID).to_dict()


def test_rows_and_replays_that_hit_nothing_say_why():
    asked = dict(KEYS, model="Qwen3.5-4B", cache_mode="none", max_requests=20)
    rows = hybridkv.sweep(**dict(asked, tensor_parallel=[1, 2]), simulate=True)
    assert all("keeps no states" in row.why_no_hits for row in rows)
    assert hybridkv.simulate(**asked).caches[0].why_no_hits == rows[0].why_no_hits


@pytest.mark.parametrize("shards", [1, 4, 100])
def test_threads(shards):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert hybridkv.sweep(**GRID, executor=pool, shards=shards).to_dict() == expected()


def test_processes():
    told = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        made = hybridkv.sweep(**GRID, executor=pool, shards=4, progress=lambda *at: told.append(at))
    assert made.to_dict() == expected()
    assert told[-1] == ("points", 18, 18)


def test_errors_come_back_whole():
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        with pytest.raises(hybridkv.InputError) as caught:
            hybridkv.sweep(**GRID, simulate=True, trace="none-such.jsonl", executor=pool)
    assert "none-such.jsonl" in str(caught.value)


def test_dask():
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert hybridkv.sweep(**GRID, executor=client.get_executor(), shards=5).to_dict() == expected()


def test_pandas():
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = hybridkv.sweep(**GRID).to_pandas()
    assert len(table) == 18 and set(table["status"]) == {"ok", "impossible"}
