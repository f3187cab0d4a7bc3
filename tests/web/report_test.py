"""The report in a browser: nothing on it overlaps or is cut, on a phone as on a desk."""

import subprocess

import pytest

from browser import Browser
from conftest import program, root

# What the eye would find: words beyond the window, on each other (an entry of a list with its number), or beyond their
# picture. What is folded away is not seen; what scrolls in a box of its own may be wider.
FAULTS = """(() => {
  const faults = [], seen = (one) => !one.closest('details:not([open])');
  const number = 32;  // of an entry of the contents, left of it
  const boxes = [...document.querySelectorAll('nav a, dt, dd')].filter(seen).flatMap((one) =>
    [...one.getClientRects()].map((box) => ({ one, left: box.left - (one.closest('nav') ? number : 0),
      right: box.right, top: box.top, bottom: box.bottom })));
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b) => {
    if (a.one !== b.one && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
      faults.push(`${a.one.textContent} on ${b.one.textContent}`);
  }));
  for (const one of [...document.querySelectorAll('li, p, dd, dt, h1, h2, h3, pre, summary, figcaption')].filter(seen))
    if (one.getBoundingClientRect().right > innerWidth || one.scrollWidth > one.clientWidth + 1)
      faults.push(`wider than the window: ${one.textContent.slice(0, 80)}`);
  for (const picture of [...document.querySelectorAll('figure svg')]) {
    const box = picture.getBoundingClientRect();
    for (const text of picture.querySelectorAll('text')) {
      const words = text.getBoundingClientRect();
      if (words.left < box.left - 1 || words.right > box.right + 1) faults.push(`cut: ${text.textContent}`);
    }
  }
  const cells = document.createRange();
  for (const cell of [...document.querySelectorAll('td:not(.text)')].filter(seen)) {
    cells.selectNodeContents(cell);
    if (cells.getClientRects().length > 1) faults.push(`a number in two lines: ${cell.textContent}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways');
  return faults;
})()"""


@pytest.mark.parametrize("flags", [
    ["qwen3.5-397b"], ["--memory", "20G", "--max-model-len", "32k", "--mode", "align", "--model", "gpt-oss-20b"]])
def test_nothing_is_cut_or_covered(flags, tmp_path):
    subprocess.run([program(), "report", *flags, "--no-verify", "-o", str(tmp_path)], check=True, capture_output=True,
                   cwd=root)
    with Browser() as tab:
        tab.command("Page.navigate", url=(tmp_path / "report.html").as_uri())
        tab.wait("document.readyState === 'complete' && document.querySelector('h2')")
        for width in (400, 800, 1280):
            tab.screenshot(root / f"build/web/screenshots/report-{flags[-1]}-{width}.png", width, False)
            assert tab.run(FAULTS) == [], width
        # The answer and its bar are seen before anything is scrolled.
        assert tab.run("document.querySelector('.bar').getBoundingClientRect().bottom + scrollY < innerHeight")
        assert tab.run("""[...document.querySelectorAll('.bar span')].every((part) => part.title.includes(' bytes'))""")
