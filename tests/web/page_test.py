"""The page in a headless browser: every control, files that are dropped, numbers as the command line prints them."""

import itertools
import json
import os
import pathlib

from browser import Browser
from conftest import page, root
from questions import questions
from steps import after, change, figures, outside, replays, samples

seed, wanted = 18, int(os.environ.get("HYBRIDKV_LAW_CASES", "20"))


def test_equals_the_command_line_to_the_digit(tab, cli):
    answered = refused = 0
    for values, flags in itertools.islice(questions(seed), 20 * wanted):
        of_page = tab.run(f"engine.ask({{ask: 'plan', values: {json.dumps(values)}}})")
        of_cli = cli("plan", *flags)
        if of_cli is None:
            assert "error" in of_page, flags
            refused += 1
            continue
        assert of_page == of_cli, flags
        of_page = tab.run(f"engine.ask({{ask: 'explain', values: {json.dumps(values)}}})")
        assert of_page == cli("explain", *flags), flags
        answered += 1
        if answered == wanted:
            break
    print(f"{answered} questions answered alike, {refused} refused by both; seed {seed}")
    assert answered == wanted


def test_shows_the_numbers_of_the_command_line(tab, cli):
    answered = 0
    for values, flags in itertools.islice(questions(seed + 1), 400):
        compared = cli("compare", *flags, "--vary", "engine.concurrent_batches=1,2")
        if compared is None or compared["settings"][0]["refused"]:
            continue
        values = {**values, "engine.concurrent_batches": "1"}
        address = "&".join(f"{key}={value}" for key, value in values.items())
        after(tab, f"location.hash = {json.dumps(address)}")
        shown = figures(tab)
        assert shown == {row["name"]: row["values"][0] for row in compared["rows"]}, flags
        answered += 1
        if answered == 8:
            break
    assert answered == 8


def test_compares_as_the_command_line(tab, cli):
    flags = ["--model", "Qwen3.5-4B", "--memory", "20G", "--max-model-len", "32k", "--mode", "align"]
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20G&limits.max_model_len=32k&engine.cache_mode=align"
               "&vary:engine.release=vllm-2026-06,vllm-0.33,sglang-0.5.23'", "compared")
    of_cli = cli("compare", *flags, "--engines", "vllm-2026-06,vllm-0.33,sglang-0.5.23")
    of_page = tab.run("engine.ask({ask: 'compare', ...question.layout(), vary: question.vary()})")
    rows = lambda answer: [(row["name"], row["values"], row["differs"], row["rules"]) for row in answer["rows"]]
    assert rows(of_page) == rows(of_cli)
    cells = tab.run("document.querySelectorAll('#compare [data-name=block_size_tokens]').length")
    assert cells == 3
    # What is the same for all is folded, and no other row is.
    folded = tab.run("[...new Set([...document.querySelectorAll('#alike [data-name]')].map((one) => one.dataset.name))]")
    empty = lambda row: all(value in (None, 0) for value in row["values"])
    assert folded == [row["name"] for row in of_page["rows"] if not row["differs"] and not empty(row)]


def test_every_control_changes_the_question(tab):
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k'")
    values = {"model": "Qwen3.5-9B", "engine.release": "vllm-0.33", "engine.strategy": "packed_attention",
              "engine.cache_mode": "align", "engine.backend_profile": "sm90", "engine.kv_dtype": "fp8_e4m3",
              "engine.ssm_dtype": "fp32", "engine.memory": "24GiB", "limits.max_model_len": "64k",
              "engine.tensor_parallel": "2", "engine.attention_pack_size": "1"}
    keys = tab.run("question.controls.map((control) => control.key)")
    assert sorted(keys) == sorted(values)
    for key, value in values.items():
        change(tab, f'[data-key="{key}"]', value)
        assert tab.run(f"question.value('{key}')") == value
        assert tab.run("document.getElementById('error').hidden"), tab.run("document.body.innerText")
    change(tab, '[data-slider="engine.memory"]', "0", "input")
    assert tab.run("question.value('engine.memory')") == "4GiB"
    change(tab, "#gpu", "H100")
    tab.wait("Number(question.value('engine.memory')) > 40 * 2 ** 30")
    change(tab, "#others", "engine.speculative_tokens=2")
    assert figures(tab)["speculative_tokens"] == 2
    assert "engine.speculative_tokens=2" in tab.run("location.hash")
    milliseconds = []
    for pack in range(1, 17):
        change(tab, '[data-slider="engine.attention_pack_size"]', str(pack % 8), "input")
        milliseconds.append(float(tab.run("document.body.dataset.milliseconds")))
    print(f"a change takes {sorted(milliseconds)[8]} ms, at most {max(milliseconds)} ms")


def test_says_what_is_wrong(tab):
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k"
               "&engine.tensor_parallel=0'")
    assert "engine.tensor_parallel" in tab.run("document.getElementById('error').innerText")
    change(tab, '[data-key="engine.tensor_parallel"]', "1")
    assert tab.run("document.getElementById('error').hidden")


def test_plans_a_dropped_config(tab, cli):
    config = samples / "sample-hybrid/config.json"
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=40GiB&limits.max_model_len=32k'")
    tab.choose_file("#config", config)
    tab.wait("question.value('model') === '/dropped/imported/config.json'")
    of_cli = cli("compare", "--model", str(config), "--memory", "40GiB", "--max-model-len", "32k",
                 "--vary", "engine.concurrent_batches=1,2")
    blocks = {row["name"]: row["values"][0] for row in of_cli["rows"]}["num_blocks"]
    tab.wait(f"document.querySelector('[data-name=num_blocks]').dataset.value === '{blocks}'")


def test_replays_a_dropped_trace(tab, cli):
    trace = samples / "trace.jsonl"
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k&engine.cache_mode=align"
               "&vary:engine.release=vllm-2026-06,sglang-0.5.23'", "compared")
    replays(tab, trace)
    of_cli = cli("simulate", "--model", "Qwen3.5-4B", "--memory", "20GiB", "--max-model-len", "32k", "--mode", "align",
                 "--trace", str(trace), "--set", "simulate.losses=true", "--set", "simulate.upper_bounds=true")
    of_page = tab.run("engine.ask({ask: 'simulate', values: replay.traceValues()}, 'replayer')")
    assert of_page["caches"] == of_cli["caches"]
    shown = tab.run("document.querySelector('#counts [data-name=hit_tokens]').dataset.value")
    assert int(shown) == of_cli["caches"][0]["hit_tokens"]
    assert tab.run("document.querySelectorAll('#rates path.curve').length") == 2
    assert "--trace trace.jsonl" in tab.run("document.getElementById('copy-command').textContent")


def test_times_to_the_first_token_where_a_gpu_gives_the_memory(tab, cli):
    trace = samples / "trace.jsonl"
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k"
               "&vary:engine.release=vllm-0.33,jenga'", "compared")
    change(tab, "#gpu", "H100")
    tab.wait("Number(question.value('engine.memory')) > 40 * 2 ** 30")
    replays(tab, trace)
    memory = tab.run("question.value('engine.memory')")
    of_cli = cli("simulate", "--model", "Qwen3.5-4B", "--engine", "vllm-0.33", "--memory", memory, "--max-model-len",
                 "32k", "--gpu", "H100", "--trace", str(trace))["caches"][0]["times"]
    times = tab.run("engine.ask({ask: 'first-tokens', values: {...question.values(), 'simulate.clock.gpu': 'H100', "
                    "'simulate.trace.file': replay.traceValues()['simulate.trace.file']}, vary: question.vary()}, "
                    "'replayer')")
    mean = of_cli["cached"]["first_token_seconds"]["mean"]
    assert times["memory_bytes"][3] == int(memory)
    assert abs(times["settings"][0]["seconds"][3] - mean) < 1e-5 * mean
    assert times["settings"][1]["seconds"] == [None] * 6
    assert len(times["clocks"]) == 1
    # The memory of the GPU may come late: then everything is replayed again while the command line still runs.
    tab.wait("document.querySelectorAll('#times path.curve').length === 2 && "
             "document.getElementById('times').textContent.includes('median error')", 120)


def test_a_trace_takes_the_place_of_one_that_still_runs(tab, tmp_path):
    one = tmp_path / "one.jsonl"
    one.write_text(json.dumps({"timestamp": 0, "input_length": 600, "output_length": 10, "hash_ids": [1, 2]}) + "\n")
    replays(tab, samples / "trace.jsonl")
    tab.run("void replay.update()")
    replays(tab, one)
    assert tab.run("document.querySelector('#counts [data-name=requests]').dataset.value") == "1"
    assert tab.run("document.querySelectorAll('#rates path.curve').length") > 0


def test_shares_are_of_all_prompts_that_the_engine_takes(tab, cli, tmp_path):
    requests = [(3000, range(6)), (20000, range(10, 50)), (3000, range(6))]
    trace = tmp_path / "refused.jsonl"
    trace.write_text("".join(json.dumps({"timestamp": 1000 * i, "input_length": tokens, "output_length": 10,
                                         "hash_ids": list(ids)}) + "\n" for i, (tokens, ids) in enumerate(requests)))
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&engine.num_blocks=40&limits.max_model_len=32k"
               "&engine.cache_mode=align&engine.release=vllm-2026-06'")
    replays(tab, trace)
    cache = cli("simulate", "--model", "Qwen3.5-4B", "--memory", "20GiB", "--set", "engine.num_blocks=40",
                "--engine", "vllm-2026-06", "--max-model-len", "32k", "--mode", "align", "--trace", str(trace))["caches"][0]
    assert cache["refused"] == 1 and 0 < cache["prompt_tokens"] < cache["taken_prompt_tokens"]
    share = tab.run("document.querySelector('#counts [data-name=hit_tokens]').nextElementSibling.textContent")
    assert share == f"{100 * cache['hit_tokens'] / cache['taken_prompt_tokens']:.2f} %"


def test_asks_nothing_of_any_network_and_complains_of_nothing(tab):
    assert outside(tab) == []
    assert tab.complaints == []


def test_is_small_and_every_control_has_a_label(tab):
    size = sum(file.stat().st_size for file in page.iterdir())
    print(f"{size:,} bytes")
    assert size < 1_200_000
    nameless = tab.run("[...document.querySelectorAll('input, select, textarea, button')].filter((one) => "
                       "!one.labels?.length && !one.ariaLabel && !one.textContent.trim()).map((one) => one.outerHTML)")
    assert nameless == []


def test_screenshots(cli):
    with Browser() as tab:
        tab.open((page / "index.html").as_uri())
        print(f"ready after {tab.run('document.body.dataset.ready')} ms")
        replays(tab, samples / "trace.jsonl")
        for width, dark in itertools.product((1280, 400), (False, True)):
            name = f"page-{width}-{'dark' if dark else 'light'}.png"
            tab.screenshot(root / "build/web/screenshots" / name, width, dark)
            assert tab.run("document.documentElement.scrollWidth") <= width, "nothing is wider than the window"
            # Pictures first: the bars are seen before anything is scrolled.
            assert tab.run("document.querySelector('#bars figure').getBoundingClientRect().bottom + scrollY < innerHeight")
            order = ["bars", "rates", "page-map", "tiles", "compare"]
            tops = tab.run(f"{order}.map((id) => document.getElementById(id).getBoundingClientRect().top)")
            assert tops == sorted(tops)


def test_replays_the_published_trace(tab):
    import os
    folder = os.environ.get("HYBRIDKV_TRACE_DIR")
    trace = pathlib.Path(folder or "/nowhere") / "mooncake_conversation.jsonl"
    if not trace.exists():
        import pytest
        pytest.skip("no trace: HYBRIDKV_TRACE_DIR names the folder of mooncake_conversation.jsonl")
    replays(tab, trace)
    print(f"12,031 requests in {tab.run('document.body.dataset.replaySeconds')} s")
    assert "12,031 requests" in tab.run("document.getElementById('replay-state').textContent")



def test_sliders_stand_next_to_what_is_typed(tab):
    after(tab, "location.hash = 'model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k'")
    steps = {key: tab.run(f"question.controls.find((one) => one.key === '{key}').steps")
             for key in ("engine.memory", "limits.max_model_len", "engine.tensor_parallel")}
    for key, typed, step, name, number in [
            ("engine.memory", "29GiB", "28GiB", "memory_bytes", 29 << 30),
            ("engine.memory", "20GB", "20GiB", "memory_bytes", 20 * 10**9),
            ("engine.memory", "40G", "40GiB", "memory_bytes", 40 << 30),
            ("engine.memory", str(12 << 30), "12GiB", "memory_bytes", 12 << 30),
            ("limits.max_model_len", "33000", "32k", "max_model_len", 33000),
            ("limits.max_model_len", "1.5k", "1k", "max_model_len", 1536),
            ("engine.tensor_parallel", "2", "2", "tensor_parallel", 2)]:
        tab.run(f"(() => {{ const one = document.querySelector('[data-key=\"{key}\"]'); one.focus(); one.select(); }})()")
        tab.command("Input.insertText", text=typed)
        before = tab.run("document.body.dataset.figures")
        for kind in ("keyDown", "keyUp"):
            tab.command("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13,
                        text="\r")
        tab.wait(f"document.body.dataset.figures !== '{before}'")
        assert tab.run("document.getElementById('error').hidden"), typed
        assert figures(tab)[name] == number, typed
        assert tab.run(f"document.querySelector('[data-key=\"{key}\"]').value") == typed
        index = steps[key].index(step)
        tab.wait(f"document.querySelector('[data-slider=\"{key}\"]').value === '{index}'", 5)
    change(tab, '[data-key="engine.memory"]', "much")
    assert not tab.run("document.getElementById('error').hidden")
