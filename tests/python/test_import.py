"""What a program waits for that imports the package."""

import json
import subprocess
import sys


def test_imports_nothing_that_only_some_answers_need():
    code = ("import sys; before = set(sys.modules); import hybridkv, json; "
            "print(json.dumps(sorted(set(sys.modules) - before)))")
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert "hybridkv._native" in loaded
    assert not {"difflib", "html", "tempfile", "numpy", "pandas", "torch"} & set(loaded)
