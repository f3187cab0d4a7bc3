"""The address of the page: whoever opens it sees what was asked, or is told what it does not hold."""

import base64
import json
import random
import re
import time
import zlib

from browser import Browser
from conftest import page
from steps import change, figures, go, opened, outside, replays, samples

start = "model=Qwen3.5-4B&engine.memory=20GiB&limits.max_model_len=32k&engine.cache_mode=align"
varied = "&vary:engine.release=vllm-2026-06,vllm-0.33"
config = samples / "sample-hybrid/config.json"


def text(tab, element):
    return tab.run(f"document.getElementById('{element}').innerText")


def gpu_fields(tab):
    return [tab.run(f"document.getElementById('{one}').value") for one in ("gpu", "weights", "share")]


def drop_config(tab, path, name="/dropped/imported/config.json"):
    go(tab, start + varied)
    before = tab.run("document.body.dataset.copied")
    tab.choose_file("#config", path)
    tab.wait(f"question.value('model') === '{name}' && document.body.dataset.copied !== '{before}'")
    return tab.run("location.href")


def test_holds_the_fields_of_memory_from_a_gpu(tab):
    go(tab, start)
    names = tab.run("[...document.querySelectorAll('#gpu option')].map((one) => one.value)")
    change(tab, "#gpu", names[2])
    change(tab, "#weights", "9.5GiB")
    change(tab, "#share", "0.85")
    tab.wait(f"document.getElementById('budget').innerText.startsWith('0.85 of {names[2]}')")
    tab.wait("document.querySelector('#all-figures [data-name=memory_bytes]').dataset.value === "
             "question.value('engine.memory')")
    with opened(tab.run("location.href")) as other:
        assert gpu_fields(other) == gpu_fields(tab) == [names[2], "9.5GiB", "0.85"]
        assert text(other, "budget") == text(tab, "budget") != ""
        assert figures(other) == figures(tab)
    change(tab, '[data-slider="engine.memory"]', "0", "input")
    assert gpu_fields(tab)[0] == text(tab, "budget") == "", "memory that is given by hand is no GPU's"
    go(tab, f"model=Qwen3.5-4B&limits.max_model_len=32k&gpu:name={names[2]}")
    assert gpu_fields(tab) == [names[2], "", "0.9"]
    assert figures(tab)["memory_bytes"] == int(tab.run("question.value('engine.memory')")) > 1 << 30
    go(tab, f"{start}&gpu:name=H1000")
    assert "H1000" in text(tab, "budget")
    go(tab, start)
    assert gpu_fields(tab) == ["", "", "0.9"] and text(tab, "budget") == ""


def test_memory_of_a_gpu_follows_the_model_whose_weights_are_counted(tab):
    name = tab.run("document.querySelectorAll('#gpu option')[1].value")
    go(tab, f"model=Qwen3.5-4B&limits.max_model_len=32k&gpu:name={name}")
    memory = "Number(question.value('engine.memory'))"
    assert "B parameters in bf16)" in text(tab, "budget")
    small = tab.run(memory)
    change(tab, '[data-key="model"]', "Qwen3.5-9B")
    tab.wait(f"{memory} < {small} && document.querySelector('#all-figures [data-name=memory_bytes]').dataset.value === "
             "question.value('engine.memory')")
    change(tab, '[data-key="engine.tensor_parallel"]', "4")
    tab.wait(f"{memory} > {small}")
    assert "on 4 ranks" in text(tab, "budget")
    change(tab, "#weights", "1GiB")
    tab.wait("document.getElementById('budget').innerText.includes('less 1 GiB of weights and')")
    before = tab.run(memory)
    change(tab, '[data-key="engine.tensor_parallel"]', "8")
    assert tab.run(memory) == before, "weights that were measured hold for the rank they were measured on"


def test_holds_a_dropped_config(tab, tmp_path):
    address = drop_config(tab, config)
    assert "model%3Apacked=" in address and len(address) < 1000
    with opened(address) as other:
        assert figures(other) == figures(tab)
        assert text(other, "config-state") == text(tab, "config-state") + " · Save config.json"
        other.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        other.run("document.getElementById('save-model').click()")
        saved = tmp_path / "config.json"
        for _ in range(200):
            if saved.exists():
                break
            time.sleep(0.05)
        assert saved.read_bytes() == config.read_bytes()
        assert "not in the address" not in text(other, "copies")
        cells = "[...document.querySelectorAll('#compare [data-name]')].map((one) => one.dataset.value)"
        assert other.run(cells) == tab.run(cells) != []
        assert other.run("location.href") == address
    go(tab, start)
    assert figures(tab)["model"] == "Qwen3.5-4B"
    go(tab, address.split('#')[1])
    assert figures(tab)["model"] == "imported"


def test_holds_a_dropped_model_file(tab, tmp_path):
    drop_config(tab, config)
    path = tmp_path / "mine.yaml"
    path.write_text(tab.run("engine.ask({ask: 'import', path: question.value('model')}).then((one) => one.yaml)"))
    address = drop_config(tab, path, "/dropped/mine.yaml")
    with opened(address) as other:
        assert figures(other) == figures(tab)
        assert text(other, "config-state") == "mine.yaml · Save mine.yaml"


def test_says_that_a_long_config_is_not_in_it(tab, tmp_path):
    dice = random.Random(3)
    long = tmp_path / "config.json"
    long.write_text(json.dumps({**json.loads(config.read_text()), "noise": [dice.random() for _ in range(4000)]}))
    address = drop_config(tab, long)
    assert "packed" not in address
    said = re.compile(r"config\.json is not in the address: packed it takes [\d,]+ characters, and an address holds at "
                      r"most 24,576")
    assert said.search(text(tab, "config-state")) and said.search(text(tab, "copies"))
    with opened(address) as other:
        assert "config.json was dropped on another page and is not in this address; drop the file here" in text(
            other, "error")
        other.choose_file("#config", long)
        other.wait("document.getElementById('error').hidden")
        assert figures(other) == figures(tab)
    go(tab, start)
    assert "not in the address" not in text(tab, "copies")


def damaged(packed):
    middle = len(packed) // 2
    yield packed[:middle]
    yield packed[:middle] + ("A" if packed[middle] != "A" else "B") + packed[middle + 1:]
    yield packed + "AAAA"
    yield "%25%25%25"
    yield "A" * 30_000


def test_says_what_is_wrong_with_a_config_once(tab):
    head, _ = drop_config(tab, config).split("model%3Apacked=")
    packed = base64.urlsafe_b64encode(zlib.compress(b'{"model_type": "unheard-of"}')).decode().rstrip("=")
    with opened(f"{head}model%3Apacked={packed}") as other:
        assert "'dtype' is missing" in text(other, "error")
        assert other.run("document.querySelectorAll('.error').length") == 1


def test_says_that_it_is_damaged_once_and_goes_on(tab):
    head, packed = drop_config(tab, config).split("model%3Apacked=")
    for text_of_file in damaged(packed):
        with opened(f"{head}model%3Apacked={text_of_file}") as other:
            assert "config.json cannot be read: what this address says of it is damaged" in text(other, "error")
            assert other.run("document.querySelectorAll('.error').length") == 1
    with opened(f"{head}model%3Apacked={packed[:9]}") as other:
        change(other, '[data-key="model"]', "Qwen3.5-4B")
        other.wait("document.getElementById('error').hidden && document.body.dataset.copied")
        assert "packed" not in other.run("location.href")
    go(tab, f"{head.split('#')[1]}model%3Apacked={packed[:9]}", "figures")
    assert "is damaged" in text(tab, "error")
    go(tab, f"{head.split('#')[1]}model%3Apacked={packed}")
    assert tab.run("document.getElementById('error').hidden")


def test_a_config_that_is_none_leaves_the_model_before_it(tab, tmp_path):
    drop_config(tab, config)
    before = figures(tab)
    bad = tmp_path / "config.json"
    bad.write_text("{}")
    tab.choose_file("#config", bad)
    tab.wait("document.querySelector('#config-state .error')")
    change(tab, '[data-key="engine.tensor_parallel"]', "1")
    assert figures(tab) == before


def test_says_that_a_trace_is_not_in_it():
    with Browser() as tab:
        tab.open(f"{page.as_uri()}/index.html#{start}&vary:engine.release=jenga")
        replays(tab, samples / "trace.jsonl")
        tab.wait("document.getElementById('copies').innerText.includes('all but the trace')")
        assert "drops trace.jsonl again" in text(tab, "copies")
        before = tab.run("document.body.dataset.rates")
        tab.run("document.getElementById('made-up').click()")
        tab.wait(f"document.body.dataset.rates !== '{before}'")
        assert "all but the trace" not in text(tab, "copies")
        counts = text(tab, "counts")
        with opened(tab.run("location.href")) as other:
            other.wait("document.body.dataset.rates")
            assert text(other, "counts") == counts
            go(other, start)
            assert text(other, "replay") == text(other, "replay-state") == ""
        assert tab.complaints == [] and outside(tab) == []


def test_back_asks_the_question_before(tab):
    go(tab, start)
    asked = [tab.run("JSON.stringify(question.values())")]
    steps = [('[data-key="engine.memory"]', "24GiB"), ('[data-key="engine.tensor_parallel"]', "2"),
             ('[data-key="model"]', "Qwen3.5-9B"), ("#others", "engine.speculative_tokens=2")]
    shown = [figures(tab)]
    for selector, value in steps:
        change(tab, selector, value)
        asked.append(tab.run("JSON.stringify(question.values())"))
        shown.append(figures(tab))
    for step in range(8, 14):  # one step of the history, however many values it goes through
        change(tab, '[data-slider="engine.memory"]', str(step), "input")
    for values, numbers in zip(reversed(asked), reversed(shown)):
        before = tab.run("document.body.dataset.figures")
        tab.run("history.back()")
        tab.wait(f"document.body.dataset.figures !== '{before}'")
        assert tab.run("JSON.stringify(question.values())") == values
        assert figures(tab) == numbers
        memory = json.loads(values)["engine.memory"]
        assert tab.run("document.querySelector('[data-key=\"engine.memory\"]').value") == memory
    before = tab.run("document.body.dataset.figures")
    tab.run("history.forward()")
    tab.wait(f"document.body.dataset.figures !== '{before}'")
    assert tab.run("JSON.stringify(question.values())") == asked[1]


def test_memory_of_a_gpu_is_one_step_back(tab):
    go(tab, start)
    names = tab.run("[...document.querySelectorAll('#gpu option')].map((one) => one.value)")
    change(tab, "#gpu", names[2])
    tab.wait("document.querySelector('#all-figures [data-name=memory_bytes]').dataset.value === "
             "question.value('engine.memory')")
    before = tab.run("document.body.dataset.figures")
    tab.run("history.back()")
    tab.wait(f"document.body.dataset.figures !== '{before}' && document.getElementById('gpu').value === ''")
    assert tab.run("question.value('engine.memory')") == "20GiB"
