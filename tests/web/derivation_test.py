"""Every number that is derived opens its derivation, which ends in that number."""

import json

from steps import go

question = ("model=Qwen3.5-397B-A17B&engine.tensor_parallel=2&engine.memory=40GiB&limits.max_model_len=4k,32k"
            "&engine.cache_mode=align")
# Rows that are a part of what is decided, or the other way round (ask/compare/compare_rows.h).
parts = {"groups", "ids_for_tokens", "ids_for_states", "ids_for_drafts", "ids_for_checkpoints", "ids_in_flight",
         "ideal_concurrency", "idle_bytes_when_full"}


def derived(tab, symbol, extra=""):
    return tab.run(f"engine.ask({{ask: 'derivation', ...question.layout(), symbol: {json.dumps(symbol)}{extra}}})")


def opened(tab, button):
    """Title and first step of the dialog that a button opens."""
    tab.run(f"{button}.click()")
    tab.wait("document.getElementById('derivation').open")
    shown = tab.run("[document.getElementById('derivation-title').textContent, "
                    "document.querySelector('#derivation-steps > li').textContent]")
    tab.run("document.getElementById('derivation-close').click()")
    assert not tab.run("document.getElementById('derivation').open")
    return shown


def test_of_the_layout(tab):
    go(tab, f"{question}&engine.attention_pack_size=5")
    title, step = opened(tab, "document.querySelector('#tiles button[data-name=block_size_tokens]')")
    assert title == "block: 448 tokens" and "B = " in step and "448 tokens" in step
    rows = tab.run("engine.ask({ask: 'figures', ...question.layout()}).then((one) => one.rows)")
    for row in rows:
        if row["symbol"]:
            answer = derived(tab, row["symbol"])
            assert "error" not in answer, row
            assert row["name"] in parts or answer["steps"][0]["result"]["value"] == row["value"], row
    buttons = tab.run("[...document.querySelectorAll('#all-figures button.number')].map((one) => one.dataset.name)")
    assert buttons == [row["name"] for row in rows if row["symbol"]]


def test_of_every_setting_that_is_compared(tab):
    go(tab, f"{question}&engine.release=jenga&vary:engine.attention_pack_size=1,5"
            "&vary:engine.release=vllm-2026-06,vllm-0.33,sglang-0.5.23")
    vary = ", vary: question.vary()"
    compared = tab.run(f"engine.ask({{ask: 'compare', ...question.layout(){vary}}})")
    assert len(compared["settings"]) == 6
    followed = 0
    for row in compared["rows"]:
        for i, (value, symbol) in enumerate(zip(row["values"], row["symbols"], strict=True)):
            if not symbol:
                continue
            first = derived(tab, symbol, f"{vary}, setting: {i}")["steps"][0]
            assert row["name"] in parts or first["result"]["value"] == value, (row["name"], i)
            followed += 1
    assert followed > 100
    for i, setting in enumerate(compared["settings"]):
        row = next(row for row in compared["rows"] if row["name"] == "num_blocks")
        if row["values"][i] is None:
            continue
        title, step = opened(tab, f"document.querySelectorAll('#compare [data-name=num_blocks]')[{i}]")
        assert title == f"num blocks, {setting['name']}: {row['texts'][i]}"
        assert f" = {row['texts'][i]}" in step
    shown = tab.run("[...document.querySelectorAll('#compare button.number')].map((one) => one.dataset.name)")
    empty = lambda row: all(value in (None, 0) for value in row["values"])
    # What differs comes first; what does not is folded behind it.
    rows = sorted(compared["rows"], key=lambda row: not row["differs"])
    assert shown == [row["name"] for row in rows if not empty(row)
                     for value, symbol in zip(row["values"], row["symbols"]) if symbol and value is not None]


def test_refuses_a_setting_that_there_is_none_of(tab):
    go(tab, f"{question}&vary:engine.release=vllm-2026-06,vllm-0.33")
    assert "below 2" in derived(tab, "B", ", vary: question.vary(), setting: 2")["error"]
    assert "below 2" in derived(tab, "B", ", vary: question.vary(), setting: -1")["error"]


def test_every_part_of_a_bar_is_derived(tab):
    """The parts of each bar come to its memory, to scale; each opens a derivation that ends in its bytes."""
    go(tab, f"{question}&vary:engine.release=vllm-0.33,sglang-0.5.23,jenga,llama.cpp")
    bars = tab.run("engine.ask({ask: 'bars', ...question.layout(), vary: question.vary()})")["settings"]
    assert [bar["name"] for bar in bars] == ["vllm-0.33", "sglang-0.5.23", "jenga", "llama.cpp"]
    drawn = tab.run("[...document.querySelectorAll('#bars figure')].map((one) => [one.dataset.setting, "
                    "[...one.querySelectorAll('.mem')].map((part) => [Number(part.dataset.bytes), "
                    "part.getBoundingClientRect().width / part.parentElement.clientWidth])])")
    of_name = {bar["name"]: bar for bar in bars if not bar["refused"]}
    assert len(of_name) >= 3 and [name for name, _ in drawn] == list(of_name)
    followed = 0
    for name, parts in drawn:
        bar = of_name[name]
        assert sum(size for size, _ in parts) == bar["bytes"] == sum(part["bytes"] for part in bar["parts"])
        for size, width in parts:
            assert abs(width - size / bar["bytes"]) < 0.02, (name, size)
        for part in bar["parts"]:
            setting = [one["name"] for one in bars].index(name)
            steps = tab.run(f"engine.ask({{ask: 'derivation', ...question.layout(), vary: question.vary(), "
                            f"setting: {setting}, full: true, symbols: {json.dumps(part['symbols'])}}})")["steps"]
            derived = sum(step["result"]["value"] for step in steps[:len(part["symbols"])])
            assert part["name"] == "reserved" or derived == part["bytes"], (name, part)
            followed += 1
    assert followed >= 21
    title, step = opened(tab, "document.querySelector('#bars .mem.tokens')")
    assert title.startswith("vllm-0.33, K and V of tokens: ") and "live tokens" in step


def test_sliders_move_the_bars(tab):
    go(tab, f"{question}&vary:engine.release=vllm-0.33,jenga")
    said = lambda: tab.run("document.querySelector('#bars figcaption').textContent")
    before, seen = said(), tab.run("document.body.dataset.bars")
    assert before.endswith(" requests of 32,768 tokens in 40 GiB")
    for key, step, ending in [("engine.memory", "0", " tokens in 4 GiB"),
                              ("limits.max_model_len", "3", " requests of 8,192 tokens in 4 GiB")]:
        tab.run(f"(() => {{ const one = document.querySelector('[data-slider=\"{key}\"]'); one.value = '{step}'; "
                "one.dispatchEvent(new Event('input', {bubbles: true})); })()")
        tab.wait(f"document.body.dataset.bars !== '{seen}'")
        seen = tab.run("document.body.dataset.bars")
        assert said().endswith(ending), said()
    assert "engine.memory=4GiB" in tab.run("location.hash") and "max_model_len=8k" in tab.run("location.hash")
