"""What is asked whether it notices a mutant, and what of it reaches one: the steps that run.py names."""

import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from scratch import Refused, tree_key_of

QUICK_SECONDS = 2  # files of tests of a program that take less are run together


def helpers_key_of(files):
    """Of what tests share: all that stands beside the files of tests."""
    return tree_key_of({name: files[name] for name in files
                        if name.startswith("tests/") and not name.startswith("tests/mutants/")
                        and not name.endswith(("_test.cc", "_test.py"))})


@functools.cache  # every mutant asks it of every file
def asked_key_of(path, helpers_key):
    """Of a file of tests and what it shares with others; of a command, which needs none of them, nothing."""
    return tree_key_of({str(path): path.read_bytes() + helpers_key.encode()}) if path.is_file() else "-"


class Interrupted(Exception):
    pass


class Steps:
    """Runs steps, and ends those that run when the user does."""

    def __init__(self, path, ids, helpers_key):
        self.lock, self.locks, self.running, self.stopped = threading.Lock(), {}, set(), False
        self.path, self.ids, self.helpers_key = path, ids, helpers_key  # ids by number
        self.known = json.loads(path.read_text()) if path.is_file() else {}

    def without(self, asked, command_of):
        """[seconds, ids that are reached] of something asked where there is no mutant, tried when first wanted."""
        name = "/".join(str(part) for part in (asked[0], asked[1].name))
        key = f"{name} {asked_key_of(asked[1], self.helpers_key)}"
        with self.lock:
            own = self.locks.setdefault(name, threading.Lock())
        with own:
            if key not in self.known:
                began = time.monotonic()
                with tempfile.NamedTemporaryFile("r", prefix="hybridkv-reached-") as reached:
                    for _ in range(2):  # as where a mutant is noticed: a busy machine may fail a test now and then
                        failed, said = self.run(command_of([asked]), -1, 3600, HYBRIDKV_MUTANT_REACHED=reached.name)
                        if not failed:
                            break
                    numbers = {int(line) for line in reached.read().split()}
                if failed:
                    raise Refused(f"{name} fails without any mutant, so it cannot judge one: {said}")
                # More were built than are wanted, where fewer failed to compile than was thought.
                reached_ids = sorted(self.ids[number] for number in numbers if number in self.ids)
                entry = [time.monotonic() - began, reached_ids]
                with self.lock:
                    self.known[key] = entry
                    self.path.write_text(json.dumps(self.known))
            return self.known[key]

    def noticed(self, mutant, steps):
        """What notices a mutant, "step: what it says", else nothing. Only what reaches it is asked, what takes least
        first."""
        reaching, quick = {}, {}
        for name, asked, command_of in steps:
            for one in asked:
                seconds, reached = self.without(one, command_of)
                if mutant["id"] in reached:
                    reaching.setdefault(one, (seconds, name, command_of))
        runs = []  # (seconds, step, what is asked together, its command)
        for one, (seconds, name, command_of) in reaching.items():
            if seconds < QUICK_SECONDS:
                quick.setdefault(one[0], []).append((seconds, one, name, command_of))
            else:
                runs.append((seconds, name, [one], command_of))
        for together in quick.values():
            seconds, ones, names, commands = zip(*together)
            runs.append((sum(seconds), names[0], list(ones), commands[0]))
        for seconds, name, asked, command_of in sorted(runs, key=lambda entry: entry[0]):
            command, limit = command_of(asked), 30 + 10 * seconds
            failed, said = self.run(command, mutant["number"], limit)
            # Twice, so that a test that fails now and then on a busy machine notices nothing.
            if failed and (said.startswith("took ") or self.run(command, mutant["number"], limit)[0]):
                return f"{name}: {said}"
        return None

    def run(self, command, number, seconds, **more):
        """(whether it failed, what it said)."""
        with (tempfile.TemporaryDirectory(prefix="hybridkv-", ignore_cleanup_errors=True) as scratch,
              tempfile.TemporaryFile() as output):
            environment = dict(os.environ, HYBRIDKV_MUTANT=str(number), TMPDIR=scratch, **more)
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
            try:  # where a mutant never stops growing, it is what the system ends first
                Path(f"/proc/{started.pid}/oom_score_adj").write_text("1000")
            except OSError:
                pass
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
