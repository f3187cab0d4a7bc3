#!/usr/bin/env python3
"""No two types of the rooms have one name: a unity build, or a header that comes to include another, would make them one,
and a reader who looks for a name finds one place. A type of a source and its header are one; so are shorthands (using)
for the same type. Run as: type_names.py SOURCE_DIR"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOMS = ("base audit layout mamba attention planner transfer clock simulator verify search measure engines scenarios ask report "
         "python web cli").split()
# The same kernel compiled for several processors, each in an object of its own.
VARIANTS = {"Simd"}
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union)\s+(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{", re.M)
SHORTHAND = re.compile(r"^using (\w+) =\s*([^;]+);", re.M)


def types_of(text):
    """(name, what it stands for) of every type at the outer level of a file; "" for one that is defined there."""
    return [(name, "") for name in TYPE.findall(text)] + \
           [(name, " ".join(of.split())) for name, of in SHORTHAND.findall(text)]


def clashes(files):
    """Names that several of the files, as (stem, text), use for different types, with the stems."""
    places = defaultdict(set)
    for stem, text in files:
        for name, of in types_of(text):
            places[name].add((stem, of) if not of else (of, of))
    stems = defaultdict(set)
    for stem, text in files:
        for name, _ in types_of(text):
            stems[name].add(stem)
    return {name: sorted(stems[name]) for name, found in places.items() if len(found) > 1 and name not in VARIANTS}


def check_itself():
    """Two types of one name that are put in are found; what is one type is not two."""
    for fault in ["struct Row {", "class Row final : Base {", "enum class Row {", "using Row = int;"]:
        if not clashes([("a", "struct Row {\n"), ("b", fault + "\n")]):
            sys.exit(f"two types of one name are not found: {fault}")
    for good in [[("a", "struct Row {\n"), ("a", "struct Row {\n")], [("a", "struct Row {\n"), ("b", "struct Row;\n")],
                 [("a", "using Row = int;\n"), ("b", "using Row =\n    int;\n")],
                 [("a", "struct Row {\n"), ("b", "struct Table {\n  struct Row {\n")]]:
        if clashes(good):
            sys.exit(f"one type is taken for two: {good}")


def main():
    check_itself()
    source, files = Path(sys.argv[1]), []
    for room in ROOMS:
        for path in sorted((source / room).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc"):
                files.append((str(path.relative_to(source).with_suffix("")), path.read_text(encoding="utf-8")))
    wrong = clashes(files)
    if wrong:
        sys.exit("\n".join(["two types of one name:"] + [f"{name}: {', '.join(at)}" for name, at in sorted(wrong.items())]))


if __name__ == "__main__":
    main()
