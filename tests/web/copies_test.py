"""What the page says for a shell, a file and Python asks the same question there, and gets the same answer."""

import importlib.util
import json
import shlex

import pytest

from steps import go, replays, samples

layout = ("model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=8k,32k&engine.cache_mode=align"
          "&engine.attention_pack_size=1,2&engine.kernel_block_sizes=[16, 32]&engine.mtp_layers=1")
varied = "&vary:engine.release=vllm-2026-06,vllm-0.33&vary:engine.attention_pack_size=1,3"
single = layout.replace("=1,2&", "=2&").replace("8k,32k", "32k")


def copied(tab, name):
    return tab.run(f"document.getElementById('copy-{name}')?.textContent")


def ask(tab, name, extra=""):
    return tab.run(f"engine.ask({{ask: '{name}', ...question.layout(){extra}}})")


def rows(answer):
    return [(row["name"], row["values"], row["differs"], row["rules"]) for row in answer["rows"]]


def words(command):
    program, *rest = shlex.split(command)
    assert program == "hybridkv"
    return rest


def test_commands_and_files_ask_the_same(tab, cli, tmp_path):
    go(tab, layout + varied)
    planned, compared = ask(tab, "plan"), ask(tab, "compare", ", vary: question.vary()")
    assert len(planned["plans"]) == 2 and len(compared["settings"]) == 4
    assert cli(*words(copied(tab, "command"))) == planned
    assert rows(cli(*words(copied(tab, "compare-command")))) == rows(compared)
    for name in ("yaml", "compare-yaml"):
        (tmp_path / f"{name}.yaml").write_text(copied(tab, name))
    assert cli("plan", tmp_path / "yaml.yaml")["plans"] == planned["plans"]
    assert rows(cli("compare", tmp_path / "compare-yaml.yaml")) == rows(compared)


def test_python_asks_the_same(tab):
    if importlib.util.find_spec("hybridkv") is None:
        pytest.skip("the package hybridkv is not installed for this Python")
    import hybridkv
    go(tab, layout + varied)
    answers = eval(copied(tab, "python"), {"hybridkv": hybridkv})
    for answer, plan in zip(answers, ask(tab, "plan")["plans"], strict=True):
        assert answer.num_blocks == plan["num_blocks"] and answer.page_bytes == plan["page_bytes"]
    compared = eval(copied(tab, "compare-python"), {"hybridkv": hybridkv}).to_dict()
    values = lambda answer: [(row["name"], row["values"]) for row in answer["rows"]]
    assert values(compared) == values(ask(tab, "compare", ", vary: question.vary()"))


def test_a_replay_is_the_same_there(tab, cli, monkeypatch):
    monkeypatch.chdir(samples)
    go(tab, single)
    replays(tab, samples / "trace.jsonl")
    tab.wait("document.getElementById('copy-command').textContent.includes('--trace')")
    shown = tab.run("engine.ask({ask: 'simulate', values: replay.traceValues()}, 'replayer')")["caches"]
    asked = [word.replace("trace.jsonl", str(samples / "trace.jsonl")) for word in words(copied(tab, "command"))]
    assert cli(*asked)["caches"] == shown
    if importlib.util.find_spec("hybridkv") is None:
        return
    import hybridkv
    assert eval(copied(tab, "python"), {"hybridkv": hybridkv}).to_dict()["caches"] == shown


def test_a_comparison_of_one_is_none(tab):
    go(tab, single + '&vary:engine.release=vllm-0.33')
    assert copied(tab, "command") and copied(tab, "compare-command") is None
    go(tab, single)
    assert copied(tab, "command") and copied(tab, "compare-command") is None


def test_a_dropped_config_goes_by_its_name(tab, cli, monkeypatch):
    go(tab, single + '&vary:engine.release=vllm-2026-06,vllm-0.33')
    before = tab.run("document.body.dataset.copied")
    tab.choose_file("#config", samples / "sample-hybrid/config.json")
    tab.wait(f"document.body.dataset.copied !== '{before}'")
    assert "--model config.json" in copied(tab, "command")
    assert 'model="config.json"' in copied(tab, "python")
    assert 'file: "config.json"' in copied(tab, "yaml")
