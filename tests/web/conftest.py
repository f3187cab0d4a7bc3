"""The page that web/build made, open in a browser; the command line to ask the same of."""

import json
import os
import pathlib
import subprocess

import pytest

from browser import Browser

root = pathlib.Path(__file__).parents[2]
page = root / "build/web/page"


@pytest.fixture(scope="session")
def tab():
    with Browser() as browser:
        browser.open((page / "index.html").as_uri())
        yield browser


def program():
    return os.environ.get("HYBRIDKV", root / "build/release/hybridkv")


@pytest.fixture(scope="session")
def cli():
    """The answer of a command as JSON; None where it refuses."""
    def ask(*words):
        done = subprocess.run([program(), *words, "--format", "json"], capture_output=True, text=True, cwd=root)
        assert done.returncode in (0, 2), done.stderr
        return json.loads(done.stdout) if done.returncode == 0 else None

    return ask
