"""Recordings of engines: what the recorder makes of tables is what `hybridkv audit` reads."""

import importlib.util

import hybridkv
from hybridkv.recorders import Recording

HEADER = {
    "engine": "by hand",
    "unit_tokens": 4,
    "arenas": [{"blocks": 32}],
    "groups": [{"kind": "attention", "layers": [3], "block_tokens": 4, "block_bytes": 64},
               {"kind": "state", "layers": [0, 1], "block_tokens": 4, "block_bytes": 64}],
}


def record(path, state_of_second=12, sample=None):
    """Two requests, the second of which finds 8 tokens of the first."""
    recording = Recording(path, HEADER, sample)
    recording.step()
    recording.come("a", 8, ["a1", "a2"])
    recording.table("a", [[1, 2], [0, 12]])
    recording.event("compute", runs=[{"request": 0, "start": 0, "tokens": 8}])
    recording.step()
    recording.let_go("a", [[1, 2], [0, 12, 13]])
    recording.table("a", [[1, 2, 3], [0, 12, 13]])
    recording.event("compute", runs=[{"request": 0, "start": 8, "tokens": 1}])
    recording.end("a")
    recording.step()
    recording.come("b", 12, ["a1", "a2"])
    recording.event("hit", request=recording.number("b"), tokens=8)
    recording.table("b", [[1, 2, 5], [0, state_of_second, 15]], found=({1, 2}, {state_of_second}))
    recording.event("compute", runs=[{"request": 1, "start": 8, "tokens": 3}])
    recording.know("b", ["a1", "a2", "b3"])
    recording.preempt("b")
    recording.end("b")
    recording.close()


def test_tables_are_recorded(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path)
    answer = hybridkv.audit(path)
    assert answer.text == "RESULT: the cache is right: 2 requests, 3 steps, 1 hit"
    assert '{"event":"move","request":0,"group":1,"first":0,"blocks":[0]}\n' in path.read_text()
    assert '{"event":"take","request":0,"group":1,"first":2,"blocks":[13]}\n' in path.read_text()


def test_another_state_is_found(tmp_path):
    record(tmp_path / "run.jsonl", state_of_second=13)
    answer = hybridkv.audit(tmp_path / "run.jsonl")
    assert answer.findings[0].fault == "other_position"
    assert (answer.findings[0].request, answer.findings[0].step, answer.findings[0].layer) == (1, 3, 0)


def test_what_leaves_a_table_is_freed(tmp_path):
    path = tmp_path / "run.jsonl"
    recording = Recording(path, HEADER)
    recording.step()
    recording.come("a", 8, [])
    recording.table("a", [[1, 2], [7, 8]])
    recording.let_go("a", [[0, 2], [0, 7, 9]])
    recording.close()
    assert '"group":0,"blocks":[1]}' in path.read_text()
    assert '"group":1,"blocks":[8]}' in path.read_text()


def test_a_share_is_recorded(tmp_path):
    recording = Recording(tmp_path / "run.jsonl", HEADER, 0.25)
    taken = sum(recording.takes(f"request-{number}") for number in range(4000))
    recording.close()
    assert 800 < taken < 1200
    assert '"sampled":true' in (tmp_path / "run.jsonl").read_text()


def test_the_recorder_of_the_engine_is_installed():
    assert importlib.util.find_spec("hybridkv.recorders.vllm") is not None
