"""The command that comes with the package."""

import pathlib
import subprocess
import sys
import sysconfig

import hybridkv_program

QUESTION = ["plan", "--model", "Qwen3.5-4B", "--memory", "20GiB", "--max-model-len", "32k", "--format", "json"]


def said_by(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_package_brings_the_program_as_a_command_and_as_a_module():
    command = pathlib.Path(sysconfig.get_path("scripts")) / "hybridkv"
    assert command.is_file()
    code, plan, errors = said_by(command, *QUESTION)
    assert (code, errors) == (0, "") and '"Qwen3.5-4B"' in plan
    assert said_by(sys.executable, "-m", "hybridkv", *QUESTION) == (code, plan, errors)


def test_the_command_finds_what_it_looks_for_beside_itself():
    drivers = pathlib.Path(hybridkv_program.program()).parents[1] / "share" / "hybridkv" / "engines"
    assert list(drivers.glob("*/conform/*.py")) and list(drivers.glob("conform/*.py"))


def test_the_module_hands_over_words_and_exit_codes():
    code, text, errors = said_by(sys.executable, "-m", "hybridkv", "plan", "--memory", "lots of it")
    assert code == 2 and not text and "lots of it" in errors


def test_the_command_does_not_load_the_package():
    code, loaded, _ = said_by(sys.executable, "-c", "import sys, hybridkv_program; print('hybridkv' in sys.modules)")
    assert code == 0 and loaded == "False\n"
