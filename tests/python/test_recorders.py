"""Recordings of engines: what the recorder makes of tables is what `hybridkv audit` reads."""

import importlib.util
from types import SimpleNamespace as Bare

import hybridkv
import pytest
from hybridkv.recorders import Recording
from hybridkv.recorders.vllm import Offload
from hybridkv.recorders.watching import Watching

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


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_recorder_of_the_engine_is_installed(engine):
    assert importlib.util.find_spec(f"hybridkv.recorders.{engine}") is not None


class Engine:
    """It is made, and counts."""

    def __init__(self):
        self.steps = 0

    def step(self, by):
        self.steps += by
        return self.steps


def watching_of_engine(seen):
    """(path, sample) of what is made go into `seen`, and (what a step gives) behind it."""

    class Watched:
        def close(self):
            seen.append("closed")

    def made(original, engine):
        original(engine)

        def make(path, sample):
            seen.append((path, sample))
            return Watched()

        engine.watched = watching.begin(make)

    def stepped(original, engine, by):
        given = original(engine, by)
        if engine.watched:
            seen.append(given)
        return given

    watching = Watching(lambda: [(Engine, "__init__", made), (Engine, "step", stepped)])
    return watching


def test_what_is_made_meanwhile_is_watched():
    seen, methods = [], (Engine.__init__, Engine.step)
    watching = watching_of_engine(seen)
    with watching.record("run.jsonl", 0.5):
        first, second = Engine(), Engine()
        assert first.step(2) == 2
        second.step(3)
    assert seen == [("run.jsonl", 0.5), ("run.jsonl.1", 0.5), 2, 3, "closed", "closed"]
    assert (Engine.__init__, Engine.step) == methods


def test_a_plugin_records_where_it_is_asked_to(monkeypatch, tmp_path):
    seen = []
    watching = watching_of_engine(seen)
    watching.register()
    assert Engine().step(1) == 1 and not seen
    monkeypatch.setenv("HYBRIDKV_RECORD", str(tmp_path / "run.jsonl"))
    monkeypatch.setenv("HYBRIDKV_RECORD_SAMPLE", "0.25")
    watching.register()
    try:
        Engine()
    finally:
        watching.uninstall()
    assert seen == [(str(tmp_path / "run.jsonl"), 0.25)]


SLOTS = {
    "engine": "by hand",
    "unit_tokens": 2,
    "arenas": [{"blocks": 16}, {"blocks": 8}],
    "groups": [{"kind": "attention", "layers": [3], "block_tokens": 2},
               {"kind": "state", "states": "running", "layers": [0], "block_tokens": 2, "arena": 1}],
}


def record_slots(path, source):
    """A request keeps the state behind 4 tokens in slot 2 and goes on in slot 1; another one finds it, by a copy."""

    def run(request, start, tokens, slot, *kept):
        to = [{"block": block, "tokens": start + tokens} for block in (slot, *kept)]
        use = {"group": 1, **({"from": slot} if start else {}), "to": to}
        return {"request": request, "start": start, "tokens": tokens, "states": [use]}

    recording = Recording(path, SLOTS)
    recording.step()
    recording.come("a", 4, ["a1", "a2"])
    recording.table("a", [[1, 2], [1, 2]])
    recording.event("compute", runs=[run(0, 0, 4, 1, 2)])
    recording.step()
    recording.table("a", [[1, 2, 3], [1, 2]])
    recording.event("compute", runs=[run(0, 4, 1, 1)])
    recording.end("a")
    recording.step()
    recording.come("b", 6, ["a1", "a2", "b3"])
    recording.event("hit", request=1, tokens=4, state=source)
    recording.table("b", [[1, 2, 5], [4, 0]], found=({1, 2}, ()))
    recording.event("copy", group=1, **{"from": source}, to=4)
    recording.event("compute", runs=[run(1, 4, 2, 4)])
    recording.close()


def test_slots_of_states_are_recorded(tmp_path):
    record_slots(tmp_path / "run.jsonl", source=2)
    assert hybridkv.audit(tmp_path / "run.jsonl").text == "RESULT: the cache is right: 2 requests, 3 steps, 1 hit"
    record_slots(tmp_path / "wrong.jsonl", source=1)
    finding = hybridkv.audit(tmp_path / "wrong.jsonl").findings[0]
    assert (finding.fault, finding.request, finding.group, finding.step) == ("other_position", 1, 1, 3)


def test_blocks_of_a_job_and_their_chunks():
    groups = [Bare(group_idx=0), Bare(group_idx=2), Bare(group_idx=3)]
    side = Bare(config=Bare(kv_group_configs=groups, blocks_per_chunk=2), manager=None)
    assert Offload.of(None) is None and Offload.of(Bare(connector_scheduler=Bare())) is None
    offload = Offload.of(Bare(connector_scheduler=side))
    assert not offload.is_whole
    # Of group 0 the second block of a chunk and the two of the next one, of group 3 the first of a chunk.
    device = Bare(block_ids=[11, 12, 13, 31], group_sizes=[3, 0, 1], block_indices=[5, 0, 2])
    assert list(offload.moved(device, Bare(block_ids=[7, 8, 9]))) == [
        (0, 11, "chunk/7/1"), (0, 12, "chunk/8/0"), (0, 13, "chunk/8/1"), (3, 31, "chunk/9/0")]


def test_a_load_brings_what_was_stored(tmp_path):
    def record_loaded(path, stored_in=2):
        recording = Recording(path, HEADER)
        recording.step()
        recording.come("a", 8, ["a1", "a2"])
        recording.table("a", [[1, 2], [0, 12]])
        recording.event("compute", runs=[{"request": 0, "start": 0, "tokens": 8}])
        for object_, group, block in (("kv/1", 0, 1), ("kv/2", 0, stored_in), ("state", 1, 12)):
            recording.event("store", object=object_, group=group, block=block, bytes=64, request=0, begun=True)
            recording.event("stored", object=object_)
        recording.end("a")
        recording.step()
        recording.come("b", 12, ["a1", "a2", "b3"])
        recording.event("hit", request=1, tokens=8)
        recording.table("b", [[5, 6, 7], [0, 8, 9]])
        for object_, group, block in (("kv/1", 0, 5), ("kv/2", 0, 6), ("state", 1, 8)):
            recording.event("load", object=object_, group=group, block=block, bytes=64, request=1)
        recording.event("compute", runs=[{"request": 1, "start": 8, "tokens": 4}])
        recording.close()
        return hybridkv.audit(path)

    right = record_loaded(tmp_path / "run.jsonl")
    assert right.is_right and (right.stores, right.loads) == (3, 3)
    finding = record_loaded(tmp_path / "wrong.jsonl", stored_in=1).findings[0]
    assert (finding.fault, finding.request, finding.group, finding.step) == ("other_position", 1, 0, 2)
