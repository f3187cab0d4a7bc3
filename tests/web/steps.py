"""What tests do with the page: change something, wait, and read what is shown."""

import contextlib
import json

from browser import Browser
from conftest import page, root

samples = root / "docs/samples"


def figures(tab):
    """The numbers that the page shows, by name."""
    return tab.run("Object.fromEntries([...document.querySelectorAll('#all-figures [data-name]')]"
                   ".map((one) => [one.dataset.name, JSON.parse(one.dataset.value)]))")


def after(tab, script, kept="figures"):
    """Runs a script and waits until what it changes is shown."""
    before = tab.run(f"document.body.dataset.{kept} ?? ''")
    tab.run(script)
    tab.wait(f"(document.body.dataset.{kept} ?? '') !== {json.dumps(before)}")


def go(tab, address, kept="copied"):
    """Asks what an address says, in the tab that is open. An empty part tells it from the same address before."""
    after(tab, f"location.hash = {json.dumps(address)} + (location.hash.endsWith('&&') ? '&' : '&&')", kept)


def change(tab, selector, value, event="change"):
    after(tab, f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.value = "
               f"{json.dumps(value)}; one.dispatchEvent(new Event('{event}', {{bubbles: true}})); }})()")


def replays(tab, trace):
    """Drops a trace and waits for its rates; those of a trace that was there before may still come in between."""
    before = tab.run("Number(document.body.dataset.replay ?? 0)")
    tab.choose_file("#trace", trace)
    tab.wait(f"Number(document.body.dataset.rates ?? 0) > {before}", 120)
    tab.wait("document.body.dataset.rates === document.body.dataset.replay", 120)


def outside(tab):
    """What the page asked of anything but itself."""
    allowed = (page.as_uri() + "/", "blob:", "data:", "about:")
    return [url for url in tab.requests if not url.startswith(allowed)]


@contextlib.contextmanager
def opened(address):
    """A browser of its own with that address, as somebody has it who was sent it; must complain of nothing."""
    with Browser() as tab:
        tab.open(address)
        yield tab
        assert tab.complaints == []
        assert outside(tab) == []
