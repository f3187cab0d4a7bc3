"""What docs/python.md shows runs as it stands there, and the stubs are what the schemas say."""

import importlib
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONAL = ("torch",)


@pytest.mark.filterwarnings("ignore::hybridkv.AssumptionWarning")
def test_page(monkeypatch, capsys):
    pytest.importorskip("numpy", reason="NumPy is not installed")
    monkeypatch.chdir(ROOT)
    page = "docs/python.md"
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        if all(f"import {module}" not in block or importlib.util.find_spec(module) for module in OPTIONAL):
            exec(compile(block, page, "exec"), names)
    told = capsys.readouterr().out
    assert told.startswith("6472 71.1") and "floor(memory / P)" in told
    assert "engine.tensor_parallel | 0 | tensor_parallel=0 | allowed: whole numbers from 1 to 1000000" in told
    assert "layers.0[0, 1, 0, 0] and layers.1[0, 0, 0, 0] both have byte 2048" in told
    assert "write: derives the stride of k's block, v's block; silently wrong in 29 of 39 layouts" in told


def test_stubs_follow_the_schemas():
    subprocess.run([sys.executable, ROOT / "python/make_stubs.py", "--check"], check=True)


def test_stubs_know_every_keyword():
    import hybridkv
    sys.path.insert(0, str(ROOT / "python"))
    try:
        import make_stubs
    finally:
        sys.path.pop(0)
    assert set(hybridkv.keywords()) == set(make_stubs.keyword_types())


@pytest.mark.parametrize("module, place", [("hybridkv", "__init__.pyi"), ("hybridkv.testing", "testing/__init__.pyi")])
def test_stubs_know_every_name(module, place):
    stubs = (ROOT / "python/hybridkv" / place).read_text()
    for name in importlib.import_module(module).__all__:
        assert re.search(rf"^(class|def) {name}\b", stubs, re.MULTILINE), name
