"""What the tests of the Python package share."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def found_program():
    """The command line, whose JSON is compared with; HYBRIDKV_PROGRAM names it where it is not on the path."""
    found = os.environ.get("HYBRIDKV_PROGRAM") or shutil.which("hybridkv")
    if not found:
        pytest.skip("the program hybridkv is not here: set HYBRIDKV_PROGRAM")
    return found


@pytest.fixture(scope="session")
def program():
    found = found_program()

    def run(*arguments):
        done = subprocess.run([found, *map(str, arguments), "--format", "json"], capture_output=True, text=True,
                              cwd=ROOT)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")
