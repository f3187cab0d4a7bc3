"""Recordings of installed engines: their schedulers are driven without a GPU (engines/ENGINE/recorder/drive.py). What
they record is right, and faults that are planted in them are found.

HYBRIDKV_SGLANG_PYTHON and HYBRIDKV_VLLM_PYTHON name the interpreters of environments that have the engine, as
engines/ENGINE/recorder/drive.py says; where they are not set, these tests are skipped.
"""

import json
import os
import pathlib
import shutil
import subprocess

import hybridkv
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("HYBRIDKV_PROGRAM")


class Driven:
    """An engine's driver with the cases that `conform` knows of a small model."""

    def __init__(self, engine, release, folder):
        self.python = os.environ.get(f"HYBRIDKV_{engine.upper()}_PYTHON")
        if not self.python or not PROGRAM:
            pytest.skip(f"HYBRIDKV_{engine.upper()}_PYTHON names no interpreter that has the engine, or "
                        "HYBRIDKV_PROGRAM no program")
        self.drive = SOURCE / "engines" / engine / "recorder" / "drive.py"
        self.folder = folder
        recorders = folder / "path" / "hybridkv" / "recorders"
        shutil.copytree(SOURCE / "python" / "hybridkv" / "recorders", recorders)
        shutil.copy(self.drive.with_name("recorder.py"), recorders / f"{engine}.py")
        (recorders.parent / "__init__.py").touch()
        cases = folder / "cases.jsonl"
        subprocess.run([PROGRAM, "conform", release, "--python", self.python, "--models", "Qwen3.5-4B", "--random", "1",
                        "--record", cases], check=True, stdout=subprocess.DEVNULL)
        self.cases = [json.loads(line) for line in cases.read_text().splitlines()]

    def audit(self, number, *faults, script="drive.py"):
        """What is found in the recording of a case."""
        case = next(case for case in self.cases if case.get("request", case)["id"] == number)
        path = self.folder / "-".join((script, *faults))
        done = subprocess.run([self.python, self.drive.with_name(script), path, *faults], text=True,
                              input=json.dumps(case) + "\n", capture_output=True,
                              env=os.environ | {"PYTHONPATH": str(self.folder / "path")})
        assert (path / f"{number}.jsonl").exists(), done.stdout + done.stderr[-2000:]
        return hybridkv.audit(path / f"{number}.jsonl")


@pytest.fixture(scope="module")
def sglang(tmp_path_factory):
    return Driven("sglang", "sglang-0.5.23", tmp_path_factory.mktemp("sglang"))


@pytest.mark.parametrize("number", [0, 4, 5, 9, 15, 1],
                         ids=["tracked", "no_buffer", "lazy", "pages", "retracted", "host"])
def test_sglang_is_right(sglang, number):
    answer = sglang.audit(number)
    assert not answer.findings, answer.text
    assert answer.hits > 3
    assert (answer.loads > 0) == (number == 1)


@pytest.mark.parametrize("number, fault, found, group", [
    (15, "state_of_another_prefix", "other_prefix", 1),
    (15, "state_not_copied", "not_written", 1),
    (15, "state_freed_while_used", "taken_while_held", 1),
    (15, "page_freed_while_used", "taken_while_held", 0),
    (15, "kv_of_another_prefix", "other_position", 0),
    (15, "shifted_boundary", "other_position", 1),
    (1, "half_of_a_node_stored", "object_unknown", 0),
    (1, "state_of_another_node_loaded", "other_prefix", 1),
])
def test_a_fault_of_sglang_is_found(sglang, number, fault, found, group):
    finding = sglang.audit(number, fault).findings[0]
    assert (finding.fault, finding.group) == (found, group)
    assert (finding.request is None) == (found == "object_unknown")  # the engine loads for its tree
    assert finding.step > 0 and finding.layer >= 0


@pytest.fixture(scope="module")
def vllm(tmp_path_factory):
    return Driven("vllm", "vllm-0.33", tmp_path_factory.mktemp("vllm"))


@pytest.mark.parametrize("script", ["drive.py", "drive_offload.py"])
def test_vllm_is_right(vllm, script):
    for number in (0, 1):
        answer = vllm.audit(number, script=script)
        assert not answer.findings, answer.text
        assert answer.requests > 20
        assert (answer.loads > 0) == (script == "drive_offload.py")


@pytest.mark.parametrize("number, fault, found", [
    (1, "one_page_stored", "object_unknown"),
    (1, "tail_not_loaded", "not_written"),
    (0, "freed_while_stored", "changed_while_stored"),
])
def test_a_fault_of_the_connector_is_found(vllm, number, fault, found):
    finding = vllm.audit(number, fault, script="drive_offload.py").findings[0]
    assert finding.fault == found
    assert finding.request >= 0 and finding.group >= 0 and finding.step > 0 and finding.layer >= 0
