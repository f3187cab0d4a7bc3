#!/usr/bin/env python3
"""Runs mutants, changes of one line or so each that some test or `verify` must notice: those of mutants.json, or with
--random as many as wanted that are drawn from the sources (draw.py).

Every change is compiled into one scratch build, behind a switch: an expression FROM becomes
(hybridkv_mutant(N) ? (TO) : (FROM)), a statement (...;) or a block ({ ... }) an if of both. So the tree is built once,
and running a mutant is running the tests with HYBRIDKV_MUTANT=N in the environment. The user's tree is only read.
The sources are compiled with the checks of the standard library: an index past the end ends the program.

A mutant is killed by what fails first, twice in a row: the tests of its file and of those listed as "tests", all tests of
its room, for one that was drawn those of the rooms that use it next, what the program answers
(tests/cli/answers_test.cc), `verify` and `verify --forward` of a small model; what takes least is asked first. Each has
to pass without a mutant before, and says then which mutants it reaches: a file of tests that never comes to a change is
not asked about it.

The same seed draws the same mutants from the same tree. Those that do not compile, where the compiler says so, are
replaced by further ones; those of equivalent.json, shown there to change nothing, are not drawn.

  tests/mutants/run.py                        all
  tests/mutants/run.py --room mamba --room layout
  tests/mutants/run.py --only mamba-unit-length,layout-npy-version
  tests/mutants/run.py --check                only whether every FROM is in the tree exactly once
  tests/mutants/run.py --random 300 --seed 29 draws its own, over all rooms with tests or those of --room

It needs git, cmake, ninja and a compiler, and about an hour on two cores. A run that was interrupted goes on where it
was, as long as no file of the tree has changed; survivors are run again. With --survivors tests may have changed: what
was killed on the same sources stays so, and only what survived is asked again.

The last line is the score. Exit codes: 0 all were killed, 1 one survived, 2 the list is wrong, the tree does
not build or a test fails without any mutant, 4 a program is missing, 130 interrupted.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import draw
from scratch import TREE, Refused, build, files_of_tree, make_copy, tree_key_of
from steps import Steps, helpers_key_of

LIST = Path(__file__).resolve().parent / "mutants.json"
EQUIVALENT = LIST.with_name("equivalent.json")
# A small model of every kind of cache: packed attention, a recurrent state, several groups.
VERIFIED = ["--model", "Qwen3.5-0.8B", "--engine", "vllm-2026-06", "--pack", "1,4", "--memory", "1GiB", "--max-model-len", "4096", "-q"]


def room_of(mutant):
    return mutant["file"].split("/")[0]


def read_mutants():
    mutants = json.loads(LIST.read_text(encoding="utf-8"))
    for number, mutant in enumerate(mutants, start=1):
        mutant["number"] = number
    return mutants


def read_equivalent():
    return json.loads(EQUIVALENT.read_text(encoding="utf-8"))


def test_of(room, stem, tree):
    """A test of a room, in whatever folder of it; beside the others where there is none."""
    name = f"{stem}_test.cc"
    return next(iter(sorted((tree / "tests" / room).rglob(name))), tree / "tests" / room / name)


def answers():
    """The tests of what the program answers, which go through all rooms; in a list, since small trees have none."""
    return [path for path in [test_of("cli", "answers", TREE)] if path.is_file()]


def listed_tests(mutant, tree):
    """Of the mutant's room, or of the one that is named: "cli/sweep"."""
    named = [name if "/" in name else f"{room_of(mutant)}/{name}" for name in mutant.get("tests", [])]
    return [test_of(*name.split("/", 1), tree) for name in named]


def takes_switch(text, pattern):
    """Can FROM be chosen at run time? It is an expression, or a statement that declares nothing and begins there."""
    words = re.match(r"[\w:]*", pattern).group()
    if words in ("const", "constexpr", "static", "auto", "else") or re.match(r"\.\w", pattern):
        return False
    if words in ("return", "throw", "break", "continue", "if", "for", "while"):
        return pattern.endswith(";")
    if re.match(r"[\w:]+(<.*?>)?[&*]? \w+( =|;|\{|\()", pattern):  # a type, and a name for one of it
        return False
    if re.match(r"\w+ = ", pattern) and not pattern.endswith(";"):  # one more name of a declaration
        return False
    if not pattern.endswith(";"):
        behind = text[text.index(pattern) + len(pattern):][:1]
        return not (behind == "(" and re.match(r"\w", pattern[-1]))  # the name of what is called stands alone
    before = re.sub(r"//[^\n]*", "", text[:text.index(pattern)]).rstrip()
    return before[-1:] in ("", *"){};:") or before.endswith("else")


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
        elif not takes_switch(text, mutant["from"]):
            problems.append(f"{mutant['id']}: neither an expression nor a statement that declares nothing: "
                            f"{mutant['from']}")
        if mutant["from"] == mutant["to"] or "\n" in mutant["from"]:
            problems.append(f"{mutant['id']}: is no change of one line")
        problems += [f"{mutant['id']}: brackets that do not match: {text}" for text in (mutant["from"], mutant["to"])
                     if any(text.count(left) != text.count(right) for left, right in ("()", "[]", "{}"))]
        if not mutant["id"].startswith(room_of(mutant) + "-"):
            problems.append(f"{mutant['id']}: begins with another room than {mutant['file']}")
        problems += [f"{mutant['id']}: no such test: {path.relative_to(tree)}"
                     for path in listed_tests(mutant, tree) if not path.is_file()]
    listed, there = read_equivalent(), {}
    for name in sorted({entry["file"] for entry in listed}):
        text = (tree / name).read_text(encoding="utf-8") if (tree / name).is_file() else ""
        there |= {mutant["id"]: mutant for mutant in draw.candidates_of(name, text)}
    problems += [f"{entry['id']}: equivalent.json, no longer drawn from {entry['file']}: {entry['line']}"
                 for entry in listed if there.get(entry["id"], {}).get("text") != entry["line"]]
    return problems


def users_of():
    """By room, those that use it next: where CMake lists the libraries."""
    users = {}
    said = (TREE / "CMakeLists.txt").read_text(encoding="utf-8")
    for room, uses in re.findall(r"hybridkv_(?:module|program)\((?:hybridkv )?(\w+) USES ([^)]*)\)", said):
        for used in uses.split():
            users.setdefault(used, []).append(room)
    return users


def room_of_test(path):
    return path.relative_to(TREE / "tests").parts[0]


def rooms_with_tests():
    rooms = {room_of_test(path) for path in (TREE / "tests").glob("*/**/*_test.cc")}
    return {room for room in rooms if (TREE / room).is_dir()}


def neighbours_of(mutant):
    """The rooms whose tests judge a mutant behind those of its own: of one that was drawn, the next ones."""
    users = users_of().get(room_of(mutant), []) if "at" in mutant else []
    return [room for room in users if room in rooms_with_tests()]


def rooms_of_tests(mutants):
    """The rooms whose test programs judge these mutants."""
    return {room_of_test(path) for path in answers()} | {room_of(mutant) for mutant in mutants} | {
        room_of_test(path) for mutant in mutants for path in listed_tests(mutant, TREE)} | {
        room for mutant in {room_of(mutant): mutant for mutant in mutants}.values() for room in neighbours_of(mutant)}


def does_not_build(said, log_path):
    at = said.find("FAILED: ")
    print(said[at:at + 6000] if at >= 0 else said[-6000:], file=sys.stderr)
    return Refused(f"the tree with its mutants does not build: {log_path}")


def built_list(mutants, chosen, files, work, arguments):
    """The folder of a build with all that are listed: a smaller choice does not build again."""
    make_copy(work / "source", files, mutants)
    folder, built, said = build(work / "source", rooms_of_tests(chosen), arguments.jobs, work / "build.log")
    if not built:
        raise does_not_build(said, work / "build.log")
    return folder


def built_draw(files, work, arguments):
    """The drawn mutants, as many as are wanted and compile, and the folder of the build that holds them."""
    rooms = set(arguments.room) or rooms_with_tests()
    left_out = {entry["id"] for entry in read_equivalent()}
    order = draw.drawn_of(files, rooms, arguments.seed, left_out)
    dropped_path = work / f"dropped-{keys_of(files)[0]}.txt"
    dropped = set(dropped_path.read_text().split()) if dropped_path.is_file() else set()
    drawn, wanted = [], arguments.random
    while True:
        short = wanted - sum(mutant["id"] not in dropped for mutant in drawn)
        if short > 0:  # some more than needed, since a further round compiles their files again
            more = list(itertools.islice(order, short + short // 4 + 8))
            if not more and short == wanted:
                raise Refused("there is nothing to draw in these rooms")
            drawn += more
            wanted -= 0 if more else short
        for number, mutant in enumerate(drawn, start=1):
            mutant["number"] = number
        kept = [mutant for mutant in drawn if mutant["id"] not in dropped]
        if len(kept) < wanted:
            continue
        make_copy(work / "random", files, kept)
        folder, built, said = build(work / "random", rooms_of_tests(kept), arguments.jobs, work / "build.log")
        if built:
            kept = kept[:wanted]
            print(f"seed {arguments.seed}: {len(kept)} drawn, {len(dropped & {m['id'] for m in drawn})} others did not "
                  f"compile; {len(left_out)} are listed that change nothing", flush=True)
            return kept, folder
        blamed = draw.blamed_of(said, kept)
        if not blamed:
            raise does_not_build(said, work / "build.log")
        dropped |= blamed
        dropped_path.write_text("\n".join(sorted(dropped)) + "\n")


def tests_of(build_folder, room, paths):
    """Runs these files of tests, but for what compares speeds: switches in an inner loop change them."""
    return [str(build_folder / "tests" / f"{room}_tests"), "--abort-after=1",
            "--test-case-exclude=nightly*,law: wider instructions of a type are no slower",
            "--source-file=" + ",".join(f"*/{path.relative_to(TREE / 'tests')}" for path in paths)]


def steps_of(mutant, build_folder):
    """(name, [what is asked], command of what of it) of what has to notice a mutant."""
    program = str(build_folder / "hybridkv")

    def tests(name, room, paths):
        return name, [(room, path) for path in paths], lambda asked: tests_of(
            build_folder, room, [path for _, path in asked])

    # mutants_test looks for every FROM in the tree, and finds none where switches are.
    def all_of(room):
        return tests(f"{room}_tests", room, [path for path in sorted((TREE / "tests" / room).rglob("*_test.cc"))
                                             if path.name != "mutants_test.cc"])

    room = room_of(mutant)
    own = test_of(room, Path(mutant["file"]).stem, TREE)
    first = [tests(f"{room_of_test(path)}/{path.stem}", room_of_test(path), [path])
             for path in ([own] if own.is_file() else []) + listed_tests(mutant, TREE)]
    last = [tests("answers", room_of_test(path), [path]) for path in answers()]
    last += [(" ".join(flags), [("hybridkv", Path(" ".join(flags)))],
             lambda _, flags=flags: [program, *flags, *VERIFIED]) for flags in (["verify"], ["verify", "--forward"])]
    return first + [all_of(there) for there in [room, *neighbours_of(mutant)]] + last


def keys_of(files):
    """Of the sources that mutants are drawn from, and of the tests that judge them."""
    tests = {name: content for name, content in files.items() if name.startswith("tests/")}
    return tree_key_of({name: files[name] for name in files if name not in tests}), tree_key_of(tests)


def read_killed(path, key):
    """By id: what was killed on a tree whose key begins so."""
    killed = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        fields = line.split("\t")
        if len(fields) == 5 and fields[0].startswith(key) and fields[2] == "killed":
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
    began = time.monotonic()
    by = steps.noticed(mutant, steps_of(mutant, folder))
    return [mutant["id"], "killed" if by else "survived", by or "-", f"{time.monotonic() - began:.0f}"]


def place_of(mutant):
    return f"{mutant['file']}:{mutant['line']}" if "line" in mutant else mutant["file"]


def run(mutants, arguments):
    """What was chosen, and the outcome of every one, in their order."""
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    files = files_of_tree()
    if arguments.random:
        mutants, folder = built_draw(files, work, arguments)
        chosen = chosen_of(mutants, arguments)
    else:
        chosen = chosen_of(mutants, arguments)
        folder = built_list(mutants, chosen, files, work, arguments)
    results_path, (sources_key, tests_key) = work / "results.tsv", keys_of(files)
    tree_key = f"{sources_key}-{tests_key}"
    results = {} if arguments.again else read_killed(results_path, sources_key if arguments.survivors else tree_key)
    left = [mutant for mutant in chosen if mutant["id"] not in results]
    if len(left) < len(chosen):
        where = "on the same sources" if arguments.survivors else "on this very tree"
        print(f"{len(chosen) - len(left)} were killed before, {where}; --again runs them, too", flush=True)
    ids = {mutant["number"]: mutant["id"] for mutant in mutants}
    places = {mutant["id"]: f"{place_of(mutant)}: {mutant['breaks']}" for mutant in chosen if "line" in mutant}
    numbering = hashlib.sha256(json.dumps([sources_key, ids]).encode()).hexdigest()[:16]
    steps = Steps(work / f"without-{numbering}.json", ids, helpers_key_of(files))
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
                what = f"{name:32}" if name not in places else f"{name}  {places[name][:110]} "
                print(f"[{count}/{len(chosen)}] {outcome:8} {what} {seconds:>4} s  {by}", flush=True)
    finally:
        steps.stop()
        pool.shutdown(cancel_futures=True)
    return chosen, {mutant["id"]: results[mutant["id"]] for mutant in chosen}


def summary(chosen, outcomes):
    """The lines of the score, by room and in all, and how many survived."""
    lines = [f"{'room':<12}{'mutants':>8}{'killed':>8}{'survived':>10}"]
    for room in sorted({room_of(mutant) for mutant in chosen}):
        there = [outcomes[mutant["id"]][1] for mutant in chosen if room_of(mutant) == room]
        lines.append(f"{room:<12}{len(there):>8}{there.count('killed'):>8}{there.count('survived'):>10}")
    survivors = [mutant for mutant in chosen if outcomes[mutant["id"]][1] == "survived"]
    lines += [f"survived: {mutant['id']} ({place_of(mutant)}): {mutant['breaks']}" for mutant in survivors]
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
    parser.add_argument("--random", type=at_least_one, metavar="COUNT", help="draw so many instead of running the list")
    parser.add_argument("--seed", type=at_least_one, default=1, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / f"hybridkv-mutants-{os.getuid()}",
                        help="scratch folder, kept for the next call (default: %(default)s)")
    parser.add_argument("--jobs", type=at_least_one, help="compilers at a time (default: as many as ninja takes)")
    parser.add_argument("--parallel", type=at_least_one, default=1, help="mutants at a time (default: 1)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--again", action="store_true", help="run those found killed before, too")
    again.add_argument("--survivors", action="store_true",
                       help="run those alone that no test has killed on these sources, whatever tests there were")
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
        if arguments.check:
            print(f"{len(mutants)} mutants, each in its place")
            return 0
        missing = [program for program in ("git", "cmake", "ninja") if not shutil.which(program)]
        if missing:
            raise Refused(f"not found: {', '.join(missing)}", code=4)
        text, survived = summary(*run(mutants, arguments))
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
