"""The command `hybridkv` of the package.

The program lies in this package rather than among the scripts of an environment, so that the libraries that come with a
wheel are found from it; and outside of the package hybridkv, so that starting it does not load that.
"""

import os
import sys


def program():
    """The program's file."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hybridkv")


def main():
    """Becomes the program, with the arguments of this process."""
    file = program()
    if not os.path.exists(file):
        sys.exit("hybridkv: this installation of the package has no program; install it again with `pip install .`")
    os.execv(file, ["hybridkv", *sys.argv[1:]])
