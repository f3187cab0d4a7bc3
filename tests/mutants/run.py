#!/usr/bin/env python3
"""Runs the mutants of mutants.json: changes of one line each that some test or `verify` must notice.

Every change is compiled into one scratch build, behind a switch: an expression FROM becomes
(hybridkv_mutant(N) ? (TO) : (FROM)), a statement an if of both. So the tree is built once, and running a mutant is
running the tests with HYBRIDKV_MUTANT=N in the environment. The user's tree is only read.

A mutant is killed by the first step that fails: the tests of its file and of those listed as "tests", all tests of its
room, of the rooms listed as "also", then `verify` and `verify --forward` of a small model. The score counts those that no step noticed as survived; mutants marked
"equivalent" carry the reason why nothing can notice them, and are not run.

  tests/mutants/run.py                        all, into a scratch folder of the system
  tests/mutants/run.py --room mamba --room layout
  tests/mutants/run.py --only mamba-unit-length,layout-npy-version
  tests/mutants/run.py --check                only whether every FROM is in the tree exactly once

It needs git, cmake, ninja and a compiler, and about an hour on two cores. A killed mutant is not run again when the script is
called again with the same --work; survivors are. Exit code 1 where a mutant survived, 2 where the list is wrong.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
LIST = Path(__file__).resolve().parent / "mutants.json"
SWITCH = "hybridkv_mutant.h"
SWITCH_TEXT = """#pragma once
#include <cstdlib>
[[maybe_unused]] static bool hybridkv_mutant(int number) {
  static const int chosen = [] {
    const char* const text = std::getenv("HYBRIDKV_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  return chosen == number;
}
"""
# A small model of every kind of cache: packed attention, a recurrent state, several groups.
VERIFIED = ["--model", "Qwen3.5-0.8B", "--pack", "1,4", "--memory", "1GiB", "--max-model-len", "4096", "-q"]


def room_of(mutant):
    return mutant["file"].split("/")[0]


def read_mutants():
    mutants = json.loads(LIST.read_text(encoding="utf-8"))
    for number, mutant in enumerate(mutants, start=1):
        mutant["number"] = number
    return mutants


def problems_of(mutants, tree):
    """What is wrong with the list: repeated ids, changes that change nothing, patterns that are not there once."""
    problems = []
    ids = [mutant["id"] for mutant in mutants]
    problems += [f"{name}: two mutants have this id" for name in sorted({name for name in ids if ids.count(name) > 1})]
    for mutant in mutants:
        text = (tree / mutant["file"]).read_text(encoding="utf-8") if (tree / mutant["file"]).is_file() else ""
        found = text.count(mutant["from"])
        if found != 1:
            problems.append(f"{mutant['id']}: found {found} times in {mutant['file']}: {mutant['from']}")
        if mutant["from"] == mutant["to"] or "\n" in mutant["from"]:
            problems.append(f"{mutant['id']}: is no change of one line")
    return problems


def switched(text, mutants):
    """The text of a file with all of its mutants behind switches."""
    for mutant in sorted(mutants, key=lambda m: text.index(m["from"]), reverse=True):
        before, number, after = mutant["from"], mutant["number"], mutant["to"]
        if before.endswith(";"):
            both = f"{{ if (hybridkv_mutant({number})) {{ {after} }} else {{ {before} }} }}"
        else:
            both = f"(hybridkv_mutant({number}) ? ({after}) : ({before}))"
        at = text.index(before)
        text = text[:at] + both + text[at + len(before):]
    return f'#include "{SWITCH}"\n{text}'


def write_if_new(path, content):
    """Leaves a file with the same bytes alone, so that nothing is built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def make_copy(work, mutants):
    """The tracked files of the tree as they are now, with every mutant behind its switch."""
    listed = subprocess.run(["git", "-C", str(TREE), "ls-files", "-z"], check=True, capture_output=True).stdout
    names = [name for name in listed.decode().split("\0") if name and (TREE / name).is_file()]
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant["file"], []).append(mutant)
    copy = work / "source"
    for name in names:
        content = (TREE / name).read_bytes()
        if name in by_file:
            content = switched(content.decode("utf-8"), by_file[name]).encode("utf-8")
        write_if_new(copy / name, content)
        shutil.copymode(TREE / name, copy / name)
    write_if_new(copy / SWITCH, SWITCH_TEXT.encode())
    wanted = {copy / name for name in names} | {copy / SWITCH}
    for top in copy.iterdir():
        if top.name == "build":
            continue
        for path in top.rglob("*") if top.is_dir() else [top]:
            if path.is_file() and path not in wanted:
                path.unlink()
    return copy


def build(copy, rooms, jobs):
    folder = copy / "build" / "release"  # as a user builds, so that a compiler cache knows most files
    targets = ["hybridkv"] + [f"{room}_tests" for room in sorted(rooms)]
    subprocess.run(["cmake", "--preset", "release", "-DHYBRIDKV_BUILD_BENCH=OFF"], cwd=copy, check=True,
                   stdout=subprocess.DEVNULL)
    command = ["ninja", "-k0", "-C", str(folder), *([f"-j{jobs}"] if jobs else []), *targets]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stdout[-8000:], built.stderr[-2000:], file=sys.stderr)
        raise SystemExit("the tree with its mutants does not build; the compiler's words are above")
    return folder


def steps_of(mutant, build_folder):
    """(name, command) of what has to notice a mutant, in order: the tests of its file first, which take a moment."""
    program = str(build_folder / "hybridkv")

    def tests(room, *chosen):
        return [str(build_folder / "tests" / f"{room}_tests"), "--abort-after=1", "--test-case-exclude=nightly*", *chosen]

    room = room_of(mutant)
    steps = []
    for stem in [Path(mutant["file"]).stem] + mutant.get("tests", []):
        if (TREE / "tests" / room / f"{stem}_test.cc").is_file():
            steps.append((f"{room}/{stem}_test", tests(room, f"--source-file=*/{room}/{stem}_test.cc")))
    steps += [(f"{name}_tests", tests(name)) for name in [room] + mutant.get("also", [])]
    return steps + [("verify", [program, "verify", *VERIFIED]),
                    ("verify --forward", [program, "verify", "--forward", *VERIFIED])]


def run_step(command, number, seconds, scratch):
    """(whether it failed, what it said)."""
    environment = dict(os.environ, HYBRIDKV_MUTANT=str(number), TMPDIR=str(scratch))
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        ended = subprocess.run(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=seconds)
    except subprocess.TimeoutExpired:
        return True, "took too long"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    said = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    if ended.returncode < 0:
        return True, f"signal {-ended.returncode}"
    # doctest names a case before its errors, and before messages of cases that pass.
    cases = re.findall(r"TEST CASE: +(.*)", said[:said.find("ERROR: ")])
    return ended.returncode != 0, cases[-1].strip() if cases else f"exit code {ended.returncode}"


def key_of(mutant):
    text = "\0".join([mutant["file"], mutant["from"], mutant["to"]])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_results(path):
    """The last outcome of every mutant, by key."""
    results = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = line.split("\t")
            if len(fields) == 5:
                results[fields[0]] = fields
    return results


def chosen_of(mutants, arguments):
    only = {name for text in arguments.only for name in text.split(",")}
    unknown = only - {mutant["id"] for mutant in mutants}
    unknown |= set(arguments.room) - {room_of(mutant) for mutant in mutants}
    if unknown:
        raise SystemExit(f"no such mutant or room: {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants
            if (not only or mutant["id"] in only) and (not arguments.room or room_of(mutant) in arguments.room)]


class Limits:
    """Seconds that each step may take: far more than it takes without a mutant, which is tried where first asked."""

    def __init__(self, work):
        self.work, self.lock, self.seconds = work, threading.Lock(), {}

    def of(self, step, command):
        with self.lock:
            if step not in self.seconds:
                began = time.monotonic()
                failed, said = run_step(command, 0, 3600, self.work / "scratch")
                if failed:
                    raise SystemExit(f"{step} fails without any mutant: {said}")
                self.seconds[step] = 60 + 10 * (time.monotonic() - began)
            return self.seconds[step]


def outcome_of(mutant, folder, limits, work):
    """key, id, killed or survived, by what, seconds."""
    start = time.monotonic()
    for step, command in steps_of(mutant, folder):
        limit = limits.of(step, command)
        failed, said = run_step(command, mutant["number"], limit, work / f"scratch-{mutant['number']}")
        if failed:
            return [key_of(mutant), mutant["id"], "killed", f"{step}: {said}", f"{time.monotonic() - start:.0f}"]
    return [key_of(mutant), mutant["id"], "survived", "-", f"{time.monotonic() - start:.0f}"]


def run(mutants, chosen, work, arguments):
    rooms = {room for mutant in chosen for room in [room_of(mutant)] + mutant.get("also", [])}
    # All mutants are switched in whatever is chosen, so that a smaller choice does not build again.
    folder = build(make_copy(work, mutants), rooms, arguments.jobs)
    results_path = work / "results.tsv"
    results = {} if arguments.again else read_results(results_path)
    for mutant in chosen:
        if mutant.get("equivalent"):
            results[key_of(mutant)] = [key_of(mutant), mutant["id"], "equivalent", mutant["equivalent"], "0"]
    settled = ("killed", "equivalent")
    left = [mutant for mutant in chosen if results.get(key_of(mutant), [""] * 5)[2] not in settled]
    limits = Limits(work)
    with results_path.open("a", encoding="utf-8") as log, ThreadPoolExecutor(arguments.parallel) as pool:
        started = [pool.submit(outcome_of, mutant, folder, limits, work) for mutant in left]
        for ended in as_completed(started):
            result = ended.result()
            results[result[0]] = result
            log.write("\t".join(result) + "\n")
            log.flush()
            print(f"{result[2]:9} {result[1]:32} {result[3]}", flush=True)
    return [results[key_of(mutant)] for mutant in chosen]


def summary(outcomes):
    count = {name: sum(1 for result in outcomes if result[2] == name) for name in ("killed", "survived", "equivalent")}
    lines = [f"{len(outcomes)} mutants: {count['killed']} killed, {count['survived']} survived, "
             f"{count['equivalent']} equivalent"]
    lines += [f"  survived: {result[1]}" for result in outcomes if result[2] == "survived"]
    counted = count["killed"] + count["survived"]
    if counted:
        lines.append(f"score: {100 * count['killed'] / counted:.1f} % of those that change anything")
    return "\n".join(lines), count["survived"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="ID,...", help="run these")
    parser.add_argument("--room", action="append", default=[], help="run those of this folder; may be repeated")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "hybridkv-mutants",
                        help="scratch folder, kept for the next call")
    parser.add_argument("--jobs", type=int, default=0, help="compilers at a time")
    parser.add_argument("--parallel", type=int, default=1, help="mutants at a time")
    parser.add_argument("--again", action="store_true", help="run those found killed before, too")
    parser.add_argument("--check", action="store_true", help="only check the list against the tree")
    arguments = parser.parse_args()
    mutants = read_mutants()
    problems = problems_of(mutants, TREE)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 2
    chosen = chosen_of(mutants, arguments)
    if arguments.check:
        print(f"{len(mutants)} mutants, each in its place")
        return 0
    arguments.work.mkdir(parents=True, exist_ok=True)
    text, survived = summary(run(mutants, chosen, arguments.work.resolve(), arguments))
    print(text)
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
