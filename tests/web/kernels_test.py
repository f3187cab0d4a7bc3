"""Cards of kernels that are dropped on the page: its verdicts on the layout are those of plan --kernels."""

import json
import subprocess

from conftest import program, root
from steps import after, go, samples

cards = root / "python/hybridkv/testing/cards"
corrupted, fine = cards / "torch.write_reshaped.card.json", cards / "vllm.unified_attention.card.json"
asked = ("model=Qwen3.5-397B-A17B&engine.tensor_parallel=2&engine.memory=40GiB&limits.max_model_len=32k"
         "&engine.cache_mode=align&engine.release=vllm-0.33&engine.attention_pack_size=")
words = ["--model", "Qwen3.5-397B-A17B", "--tp", "2", "--memory", "40GiB", "--max-model-len", "32k", "--mode", "align",
         "--engine", "vllm-0.33"]


def drop(tab, card):
    before = tab.run("document.body.dataset.figures")
    tab.choose_file("#kernel-cards", card)
    tab.wait(f"document.body.dataset.figures !== {json.dumps(before)}")


def shown(tab):
    """(verdict, sentence) of each kernel."""
    return [tuple(one) for one in tab.run("[...document.querySelectorAll('#kernel-fits li')]"
                                          ".map((one) => [one.dataset.verdict, one.firstChild.textContent])")]


def plan(pack, *given):
    done = subprocess.run([program(), "plan", *words, "--pack", pack, "--kernels", *given, "--format", "json"],
                          capture_output=True, text=True, cwd=root)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_judges_the_layout_as_the_command_line(tab):
    after(tab, f"location.hash = {json.dumps(asked + '5')}")
    assert shown(tab) == []
    drop(tab, corrupted)
    drop(tab, fine)
    for pack, verdicts in (("5", ["corrupts", "fits"]), ("1", ["fits", "fits"])):
        go(tab, asked + pack, "figures")
        code, of_cli = plan(pack, corrupted, fine)
        fits = of_cli["plans"][0]["kernels"]
        assert [verdict for verdict, _ in shown(tab)] == [fit["verdict"] for fit in fits] == verdicts
        assert code == (1 if "corrupts" in verdicts else 0)
        for (_, sentence), fit in zip(shown(tab), fits):
            assert sentence.startswith(fit["kernel"]) and sentence.endswith(": " + "; ".join(fit["reasons"]))
        assert tab.run("engine.ask({ask: 'plan', ...question.layout(), ...kernels.asked()})") == of_cli
        warned = [one["message"] for one in of_cli["plans"][0]["warnings"] if one["code"].startswith("kernel_")]
        assert warned == [sentence for verdict, sentence in shown(tab) if verdict == "corrupts"]
        assert not tab.run("[...document.querySelectorAll('#notices li')]"
                           ".filter((one) => (one.dataset.code ?? '').startsWith('kernel_')).length")


def test_refuses_what_is_no_card_and_leaves_cards_out(tab):
    before = shown(tab)
    assert len(before) == 2
    drop(tab, samples / "sample-hybrid/config.json")
    assert "schema: is missing; cards are written by" in tab.run("document.querySelector('#kernels-state').textContent")
    assert shown(tab) == before
    for left in (1, 0):
        after(tab, "document.querySelector('#kernel-fits button').click()")
        assert len(shown(tab)) == left
    assert tab.run("document.querySelector('#kernels-state').textContent") == ""
