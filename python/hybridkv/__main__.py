"""`python -m hybridkv …` is the program that came with the package."""

import os
import sys
from importlib.metadata import files


def program():
    """The program's file, as the installation recorded it."""
    for file in files("hybridkv") or ():
        if file.stem == "hybridkv" and file.parent.name in ("bin", "Scripts"):
            return os.path.abspath(file.locate())
    sys.exit("hybridkv: this installation of the package has no program; install it again with `pip install .`")


if __name__ == "__main__":
    os.execv(program(), ["hybridkv", *sys.argv[1:]])
