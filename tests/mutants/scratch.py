"""A copy of the tree with mutants behind switches, and its build."""

import hashlib
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
SWITCH = "hybridkv_mutant.h"
SWITCH_TEXT = """#pragma once
#pragma GCC diagnostic ignored "-Wparentheses"
#include <atomic>
#include <cstdio>
#include <cstdlib>
[[maybe_unused]] static void hybridkv_mutant_reached(int number) {
  static std::atomic<bool> seen[1 << 14];
  if (seen[number].exchange(true)) return;
  static std::FILE* const file = std::fopen(std::getenv("HYBRIDKV_MUTANT_REACHED"), "a");
  std::fprintf(file, "%d\\n", number);
  std::fflush(file);
}
[[maybe_unused]] static bool hybridkv_mutant(int number) {
  static const int chosen = [] {
    const char* const text = std::getenv("HYBRIDKV_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  if (chosen == -1) hybridkv_mutant_reached(number);
  return chosen == number;
}
"""
# An index past the end ends the program, whatever happens to lie there. The tests keep their flags, so that a compiler
# cache knows them.
HARDENED = "hybridkv_hardened.cmake"
HARDENED_TEXT = """add_compile_definitions(
  $<$<STREQUAL:$<TARGET_PROPERTY:SOURCE_DIR>,${CMAKE_SOURCE_DIR}>:_GLIBCXX_ASSERTIONS>)
"""


class Refused(Exception):
    """Why nothing can be judged, and the exit code that says so."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


def on_as_many_lines(text, before):
    """In one line, and as many empty ones behind it as keep the numbers of what follows."""
    return " ".join(text.split("\n")) + "\n" * before.count("\n")


def switched(text, mutants):
    """The text of a file with all of its mutants behind switches, line for line."""
    places = [(mutant["at"] if "at" in mutant else text.index(mutant["from"]), mutant) for mutant in mutants]
    for at, mutant in sorted(places, key=lambda place: place[0], reverse=True):
        before, number, after = mutant["from"], mutant["number"], mutant["to"]
        if before.endswith(";") or before.startswith("{"):
            both = f"{{ if (hybridkv_mutant({number})) {{ {after} }} else {{ {before} }} }}"
        elif mutant.get("kind") == "condition":  # may be an object that converts
            both = f"(hybridkv_mutant({number}) != static_cast<bool>({before}))"
        else:
            both = f"(hybridkv_mutant({number}) ? ({after}) : ({before}))"
        text = text[:at] + on_as_many_lines(both, before) + text[at + len(before):]
    return text


def including(files, part):
    """The sources that include a part of one (.inc), also through other parts."""
    line = f'#include "{part}"'.encode()
    names = [name for name, content in files.items() if line in content]
    return {name for name in names if not name.endswith(".inc")}.union(
        *(including(files, name) for name in names if name.endswith(".inc")))


def write_if_new(path, content):
    """Leaves a file with the same bytes alone, so that nothing is built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def files_of_tree():
    """The files of the tree as they are now, also those not committed yet."""
    listed = subprocess.run(["git", "-C", str(TREE), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True)
    if listed.returncode != 0:
        raise Refused(f"{TREE}: git lists no files here: {listed.stderr.decode('utf-8', 'replace').strip()}")
    names = listed.stdout.decode().split("\0")
    return {name: (TREE / name).read_bytes() for name in sorted(set(names)) if name and (TREE / name).is_file()}


def make_copy(copy, files, mutants):
    """The tree in another folder, with every mutant behind its switch."""
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant["file"], []).append(mutant)
    parts = {name for name in by_file if name.endswith(".inc")}  # read inside of a namespace, where no header can be
    with_switch = (by_file.keys() - parts).union(*(including(files, part) for part in parts))
    for name, content in files.items():
        if name in by_file:
            content = switched(content.decode("utf-8"), by_file[name]).encode("utf-8")
        if name in with_switch:
            content = f'#include "{SWITCH}"\n'.encode() + content
        write_if_new(copy / name, content)
        shutil.copymode(TREE / name, copy / name)
    write_if_new(copy / SWITCH, SWITCH_TEXT.encode())
    write_if_new(copy / HARDENED, HARDENED_TEXT.encode())
    wanted = {copy / name for name in files} | {copy / SWITCH, copy / HARDENED}
    for top in copy.iterdir():
        if top.name == "build":
            continue
        for path in top.rglob("*") if top.is_dir() else [top]:
            if path.is_file() and path not in wanted:
                path.unlink()


def build(copy, rooms, jobs, log_path):
    """(the folder, whether everything is built, what was said)."""
    folder = copy / "build" / "release"  # as a user builds, so that a compiler cache knows most files
    targets = ["hybridkv"] + [f"{room}_tests" for room in sorted(rooms)]
    commands = [["cmake", "--preset", "release", "-DHYBRIDKV_BUILD_BENCH=OFF",
                 f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={copy / HARDENED}",
                 *shlex.split(os.environ.get("HYBRIDKV_CMAKE_FLAGS", ""))],  # as test.sh takes them
                ["ninja", "-k0", "-C", str(folder), *([f"-j{jobs}"] if jobs else []), *targets]]
    began = time.monotonic()
    print(f"building {', '.join(targets)}; follow it in {log_path}", flush=True)
    with log_path.open("wb") as log:
        built = all(subprocess.run(command, cwd=copy, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode == 0
                    for command in commands)
    print(f"{'built' if built else 'compiled'} in {time.monotonic() - began:.0f} s", flush=True)
    return folder, built, log_path.read_text(encoding="utf-8", errors="replace")


def tree_key_of(files):
    """Stands for all bytes of the tree: what was found on another one says nothing about this one."""
    key = hashlib.sha256()
    for name, content in files.items():
        key.update(f"{name}\0{len(content)}\0".encode() + content)
    return key.hexdigest()[:16]
