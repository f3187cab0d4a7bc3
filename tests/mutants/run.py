#!/usr/bin/env python3
"""Runs the mutants of mutants.json: changes of one line each that some test or `verify` must notice.

Every change is compiled into one scratch build, behind a switch: an expression FROM becomes
(hybridkv_mutant(N) ? (TO) : (FROM)), a statement (...;) or a block ({ ... }) an if of both. So the tree is built once,
and running a mutant is running the tests with HYBRIDKV_MUTANT=N in the environment. The user's tree is only read.

A mutant is killed by the first step that fails, twice in a row: the tests of its file and of those listed as "tests",
all tests of its room, then `verify` and `verify --forward` of a small model. Every step has to pass without a mutant
first.

  tests/mutants/run.py                        all
  tests/mutants/run.py --room mamba --room layout
  tests/mutants/run.py --only mamba-unit-length,layout-npy-version
  tests/mutants/run.py --check                only whether every FROM is in the tree exactly once

It needs git, cmake, ninja and a compiler, and about an hour on two cores, most of which is the build. A run that was
interrupted goes on where it was, as long as no file of the tree has changed; survivors are run again.

The last line is the score. Exit codes: 0 all were killed, 1 one survived, 2 the list is wrong, the tree does
not build or a test fails without any mutant, 4 a program is missing, 130 interrupted.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
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


class Refused(Exception):
    """Why nothing can be judged, and the exit code that says so."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


def room_of(mutant):
    return mutant["file"].split("/")[0]


def read_mutants():
    mutants = json.loads(LIST.read_text(encoding="utf-8"))
    for number, mutant in enumerate(mutants, start=1):
        mutant["number"] = number
    return mutants


def test_of(room, stem, tree):
    return tree / "tests" / room / f"{stem}_test.cc"


def listed_tests(mutant, tree):
    """Of the mutant's room, or of the one that is named: "cli/sweep"."""
    named = [name if "/" in name else f"{room_of(mutant)}/{name}" for name in mutant.get("tests", [])]
    return [test_of(*name.split("/"), tree) for name in named]


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
        problems += [f"{mutant['id']}: brackets that do not match: {text}" for text in (mutant["from"], mutant["to"])
                     if any(text.count(left) != text.count(right) for left, right in ("()", "[]", "{}"))]
        if not mutant["id"].startswith(room_of(mutant) + "-"):
            problems.append(f"{mutant['id']}: begins with another room than {mutant['file']}")
        problems += [f"{mutant['id']}: no such test: {path.relative_to(tree)}"
                     for path in listed_tests(mutant, tree) if not path.is_file()]
    return problems


def switched(text, mutants):
    """The text of a file with all of its mutants behind switches."""
    for mutant in sorted(mutants, key=lambda m: text.index(m["from"]), reverse=True):
        before, number, after = mutant["from"], mutant["number"], mutant["to"]
        if before.endswith(";") or before.startswith("{"):
            both = f"{{ if (hybridkv_mutant({number})) {{ {after} }} else {{ {before} }} }}"
        else:
            both = f"(hybridkv_mutant({number}) ? ({after}) : ({before}))"
        at = text.index(before)
        text = text[:at] + both + text[at + len(before):]
    return f'#include "{SWITCH}"\n{text}'


def rooms_of_tests(mutants):
    """The rooms whose test programs judge these mutants."""
    return {room_of(mutant) for mutant in mutants} | {
        path.parent.name for mutant in mutants for path in listed_tests(mutant, TREE)}


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
    for name, content in files.items():
        if name in by_file:
            content = switched(content.decode("utf-8"), by_file[name]).encode("utf-8")
        write_if_new(copy / name, content)
        shutil.copymode(TREE / name, copy / name)
    write_if_new(copy / SWITCH, SWITCH_TEXT.encode())
    wanted = {copy / name for name in files} | {copy / SWITCH}
    for top in copy.iterdir():
        if top.name == "build":
            continue
        for path in top.rglob("*") if top.is_dir() else [top]:
            if path.is_file() and path not in wanted:
                path.unlink()


def build(copy, rooms, jobs, log_path):
    folder = copy / "build" / "release"  # as a user builds, so that a compiler cache knows most files
    targets = ["hybridkv"] + [f"{room}_tests" for room in sorted(rooms)]
    commands = [["cmake", "--preset", "release", "-DHYBRIDKV_BUILD_BENCH=OFF"],
                ["ninja", "-k0", "-C", str(folder), *([f"-j{jobs}"] if jobs else []), *targets]]
    began = time.monotonic()
    print(f"building {', '.join(targets)}; follow it in {log_path}", flush=True)
    with log_path.open("wb") as log:
        for command in commands:
            if subprocess.run(command, cwd=copy, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode != 0:
                said = log_path.read_text(encoding="utf-8", errors="replace")
                at = said.find("FAILED: ")
                print(said[at:at + 6000] if at >= 0 else said[-6000:], file=sys.stderr)
                raise Refused(f"the tree with its mutants does not build: {log_path}")
    print(f"built in {time.monotonic() - began:.0f} s", flush=True)
    return folder


def steps_of(mutant, build_folder):
    """(name, command) of what has to notice a mutant, in order: the tests of its file first, which take a moment."""
    program = str(build_folder / "hybridkv")

    def tests(room, *chosen):
        tested = str(build_folder / "tests" / f"{room}_tests")
        # mutants_test looks for every FROM in the tree: it does not find one where the switches are.
        return [tested, "--abort-after=1", "--test-case-exclude=nightly*", "--source-file-exclude=*/mutants_test.cc",
                *chosen]

    room = room_of(mutant)
    own = test_of(room, Path(mutant["file"]).stem, TREE)
    steps = [(f"{path.parent.name}/{path.stem}",
              tests(path.parent.name, f"--source-file=*/{path.parent.name}/{path.name}"))
             for path in ([own] if own.is_file() else []) + listed_tests(mutant, TREE)]
    return steps + [(f"{room}_tests", tests(room)),
                    ("verify", [program, "verify", *VERIFIED]),
                    ("verify --forward", [program, "verify", "--forward", *VERIFIED])]


class Interrupted(Exception):
    pass


class Steps:
    """Runs steps, and ends those that run when the user does."""

    def __init__(self):
        self.baseline, self.lock = threading.Lock(), threading.Lock()
        self.limits, self.running, self.stopped = {}, set(), False

    def limit(self, step, command):
        """Seconds that a step may take: far more than without a mutant, which is tried where first asked."""
        with self.baseline:
            if step not in self.limits:
                began = time.monotonic()
                failed, said = self.run(command, 0, 3600)
                if failed:
                    raise Refused(f"{step} fails without any mutant, so it cannot judge one: {said}")
                self.limits[step] = 60 + 10 * (time.monotonic() - began)
            return self.limits[step]

    def run(self, command, number, seconds):
        """(whether it failed, what it said)."""
        with (tempfile.TemporaryDirectory(prefix="hybridkv-", ignore_cleanup_errors=True) as scratch,
              tempfile.TemporaryFile() as output):
            environment = dict(os.environ, HYBRIDKV_MUTANT=str(number), TMPDIR=scratch)
            started = self.start(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=output)
            try:
                started.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                return True, f"took more than {seconds:.0f} s"
            finally:
                self.end(started)
            if self.stopped:
                raise Interrupted
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        if started.returncode < 0:
            return True, f"signal {-started.returncode}"
        # doctest names a case before its errors, and before messages of cases that pass.
        cases = re.findall(r"TEST CASE: +(.*)", said.partition("ERROR: ")[0])
        return started.returncode != 0, cases[-1].strip() if cases else f"exit code {started.returncode}"

    def start(self, command, **rest):
        with self.lock:
            if self.stopped:
                raise Interrupted
            # A group of its own, so that what a test has started ends with it.
            started = subprocess.Popen(command, start_new_session=True, **rest)
            self.running.add(started)
            return started

    def end(self, started):
        with self.lock:
            self.running.discard(started)
            kill_group(started)
        started.wait()

    def stop(self):
        with self.lock:
            self.stopped = True
            for started in self.running:
                kill_group(started)


def kill_group(started):
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def tree_key_of(files):
    """Stands for all bytes of the tree: what was found on another one says nothing about this one."""
    key = hashlib.sha256()
    for name, content in files.items():
        key.update(f"{name}\0{len(content)}\0".encode() + content)
    return key.hexdigest()[:16]


def read_killed(path, tree_key):
    """By id: what was killed on this very tree."""
    killed = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        fields = line.split("\t")
        if len(fields) == 5 and fields[0] == tree_key and fields[2] == "killed":
            killed[fields[1]] = fields[1:]
    return killed


def chosen_of(mutants, arguments):
    only = {name for text in arguments.only for name in text.split(",")}
    unknown = only - {mutant["id"] for mutant in mutants}
    unknown |= set(arguments.room) - {room_of(mutant) for mutant in mutants}
    if unknown:
        raise Refused(f"no such mutant or room: {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants
              if (not only or mutant["id"] in only) and (not arguments.room or room_of(mutant) in arguments.room)]
    if not chosen:
        raise Refused("none of these mutants is in these rooms")
    return chosen


def outcome_of(mutant, folder, steps):
    """id, killed or survived, by what, seconds."""
    spent = 0.0
    for step, command in steps_of(mutant, folder):
        limit = steps.limit(step, command)
        began = time.monotonic()
        failed, said = steps.run(command, mutant["number"], limit)
        # Twice, so that a test that fails now and then on a busy machine notices nothing.
        failed = failed and steps.run(command, mutant["number"], limit)[0]
        spent += time.monotonic() - began
        if failed:
            return [mutant["id"], "killed", f"{step}: {said}", f"{spent:.0f}"]
    return [mutant["id"], "survived", "-", f"{spent:.0f}"]


def run(mutants, chosen, arguments):
    """The outcome of every chosen mutant, in their order."""
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    files = files_of_tree()
    make_copy(work / "source", files, mutants)  # all, whatever is chosen: a smaller choice does not build again
    folder = build(work / "source", rooms_of_tests(chosen), arguments.jobs, work / "build.log")
    results_path, tree_key = work / "results.tsv", tree_key_of(files)
    results = {} if arguments.again else read_killed(results_path, tree_key)
    left = [mutant for mutant in chosen if mutant["id"] not in results]
    if len(left) < len(chosen):
        print(f"{len(chosen) - len(left)} were killed before, on this very tree; --again runs them, too", flush=True)
    steps = Steps()
    pool = ThreadPoolExecutor(arguments.parallel)
    try:
        with results_path.open("a", encoding="utf-8") as log:
            started = [pool.submit(outcome_of, mutant, folder, steps) for mutant in left]
            for count, ended in enumerate(as_completed(started), start=len(chosen) - len(left) + 1):
                result = ended.result()
                results[result[0]] = result
                log.write("\t".join([tree_key, *result]) + "\n")
                log.flush()
                name, outcome, by, seconds = result
                print(f"[{count}/{len(chosen)}] {outcome:8} {name:32} {seconds:>4} s  {by}", flush=True)
    finally:
        steps.stop()
        pool.shutdown(cancel_futures=True)
    return {mutant["id"]: results[mutant["id"]] for mutant in chosen}


def summary(chosen, outcomes):
    """The lines of the score, by room and in all, and how many survived."""
    lines = [f"{'room':<12}{'mutants':>8}{'killed':>8}{'survived':>10}"]
    for room in sorted({room_of(mutant) for mutant in chosen}):
        there = [outcomes[mutant["id"]][1] for mutant in chosen if room_of(mutant) == room]
        lines.append(f"{room:<12}{len(there):>8}{there.count('killed'):>8}{there.count('survived'):>10}")
    survivors = [mutant for mutant in chosen if outcomes[mutant["id"]][1] == "survived"]
    lines += [f"survived: {mutant['id']} ({mutant['file']}): {mutant['breaks']}" for mutant in survivors]
    killed = len(chosen) - len(survivors)
    lines.append(f"score: {killed} of {len(chosen)} mutants killed, {100 * killed / len(chosen):.1f} %")
    return "\n".join(lines), len(survivors)


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1 on is needed")
    return int(text)


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="ID,...", help="run these")
    parser.add_argument("--room", action="append", default=[], help="run those of this folder; may be repeated")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / f"hybridkv-mutants-{os.getuid()}",
                        help="scratch folder, kept for the next call (default: %(default)s)")
    parser.add_argument("--jobs", type=at_least_one, help="compilers at a time (default: as many as ninja takes)")
    parser.add_argument("--parallel", type=at_least_one, default=1, help="mutants at a time (default: 1)")
    parser.add_argument("--again", action="store_true", help="run those found killed before, too")
    parser.add_argument("--check", action="store_true", help="only check the list against the tree")
    return parser.parse_args()


def main():
    arguments = arguments_of()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        mutants = read_mutants()
        problems = problems_of(mutants, TREE)
        if problems:
            raise Refused("\n".join(problems))
        chosen = chosen_of(mutants, arguments)
        if arguments.check:
            print(f"{len(mutants)} mutants, each in its place")
            return 0
        missing = [program for program in ("git", "cmake", "ninja") if not shutil.which(program)]
        if missing:
            raise Refused(f"not found: {', '.join(missing)}", code=4)
        text, survived = summary(chosen, run(mutants, chosen, arguments))
        print(text)
        return 1 if survived else 0
    except Refused as why:
        print(why, file=sys.stderr)
        return why.code
    except KeyboardInterrupt:
        print("interrupted; the next call goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
