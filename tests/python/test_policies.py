"""Policies of one's own: what docs/research.md shows runs as it stands there, and what a policy may do wrong is said."""

import csv
import functools
import pathlib
import re
import shutil
import subprocess
import sys

import hybridkv
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = {"model": "Qwen3.5-4B", "memory": "6GiB", "max_model_len": 65536, "max_requests": 1500, "records": False}


def found(policy, **keys):
    return hybridkv.simulate(policy=policy, **{**KEYS, **keys}).caches[0].hit_tokens


class LastUse:
    def rank(self, prefix):
        return prefix.last_use


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the trace and the examples that the page names."""
    shutil.copy(ROOT / "tests/data/simulator/invented/mooncake.jsonl", tmp_path / "trace.jsonl")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_page(workplace, capsys):
    page = (ROOT / "docs/research.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(compile(block, "docs/research.md", "exec"), names)
    told = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"[\d.]+ % found by lru", told[0])
    assert re.fullmatch(r"[\d.]+ % found by TimeToLive", told[1])
    assert told[2] == "6 requests that it had not seen"


def test_from_seeds_to_a_figure(workplace):
    run = subprocess.run([sys.executable, "docs/policies/compare.py", "--memory", "4GiB", "--seeds", "2", "--requests",
                          "600", "-o", "results.csv"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader(open("results.csv")))
    assert [row["policy"] for row in rows] == ["lru", "worth", "TimeToLive", "MessageEnds", "Learnt"]
    assert all(0 < float(row["hit_percent"]) < 100 and float(row["interval"]) >= 0 for row in rows)
    if not shutil.which("gnuplot"):
        pytest.skip("there is no gnuplot")
    subprocess.run(["gnuplot", "docs/policies/figure.gp"], check=True)
    assert (workplace / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_what_is_told():
    told = []

    class Watching(LastUse):
        def used(self, prefix):
            told.append((prefix.tokens, prefix.uses, prefix.made, prefix.last_use, prefix.now, prefix.prompt_tokens,
                         prefix.saved_tokens, prefix.turn, prefix.branches, prefix.longer, prefix.id,
                         prefix.memory_tokens))

    assert found(Watching) == found(LastUse)
    assert told
    for tokens, uses, made, last_use, now, prompt, saved, turn, branches, longer, _, memory in told:
        assert 0 < saved <= tokens < prompt and uses > 0 and turn > 0 and 0 <= longer <= branches and memory >= 0
        assert 0 < made <= last_use < now


def test_what_is_kept():
    class Nothing(LastUse):
        def keeps(self, prefix):
            return False

    assert found(Nothing) != found(LastUse)


def test_every_replay_has_its_own():
    class Counting(LastUse):
        made = 0

        def __init__(self):
            type(self).made += 1

    assert found(Counting) == found(Counting) == found(functools.partial(Counting))
    assert Counting.made == 3


def test_the_answer_says_whose_it_is():
    made = hybridkv.simulate(policy=LastUse, **KEYS)
    assert made.caches[0].eviction == "LastUse"


@pytest.mark.parametrize("rank, error, words", [
    (lambda self, prefix: "much", TypeError, "real number"),
    (lambda self, prefix: float("nan"), hybridkv.InputError, "rank is not a number"),
    (lambda self, prefix: prefix.nothing, AttributeError, "nothing"),
    (lambda self, prefix: {}[prefix.id], KeyError, "[0-9]"),
])
def test_what_goes_wrong_in_a_policy(rank, error, words):
    with pytest.raises(error, match=words):
        found(type("Wrong", (), {"rank": rank}))


def test_what_is_no_policy():
    with pytest.raises(hybridkv.InputError, match="give the class itself"):
        found(3)
    with pytest.raises(hybridkv.InputError, match="without rank"):
        found(object)
    with pytest.raises(hybridkv.InputError, match="no library can be loaded"):
        found("nothing.so")
    with pytest.raises(hybridkv.InputError, match="policies are tried on pools of blocks"):
        found(LastUse, engine="sglang-0.5.23")
    with pytest.raises(hybridkv.InputError, match="give one of the two"):
        found(LastUse, **{"simulate.eviction": "worth"})


def test_a_compiled_one(tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler")
    library = tmp_path / "message_ends.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-I", ROOT / "simulator/pool",
                    ROOT / "docs/policies/message_ends.c", "-o", library], check=True)
    sys.path.insert(0, str(ROOT / "docs/policies"))
    try:
        from message_ends import MessageEnds
    finally:
        sys.path.pop(0)
    assert found(library) == found(MessageEnds)
