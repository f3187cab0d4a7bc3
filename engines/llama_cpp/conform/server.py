"""A server of the engine that is started on a tiny model, and what it prints of its caches."""

import queue
import re
import subprocess
import threading

# All caches are there, and what was left to the engine is settled.
STARTED = re.compile("sched_reserve: reserve took")
# The last line of a start.
LISTENS = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
SETTING = re.compile(r"llama_context: (n_\w+)\s+= (\d+)$")
SIZE = r"(\d+\.\d+) MiB"
CELLS = re.compile(rf"llama_kv_cache: size = +{SIZE} \( *(\d+) cells, +(\d+) layers, +\d+/(\d+) seqs\), "
                   rf"K \(\w+\): +{SIZE}, V \(\w+\): +{SIZE}")
ROWS = re.compile(rf"llama_memory_recurrent: size = +{SIZE} .*?, R \(\w+\): +{SIZE}, S \(\w+\): +{SIZE}")
REFUSAL = re.compile(r" E (.+)$")
ABORT = re.compile(r"(\S+: GGML_ASSERT\(.+)")


def version_of(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return re.search(r"commit (\w{1,7})", said.stderr + said.stdout).group(1)


def flags_of(request):
    """The flags of a setting; what is left to the engine is not said."""
    engine, own = request["engine"], request["engine"]["own"]
    flags = {
        "--parallel": engine["max_running_requests"],
        "--ctx-size": own["ctx_size"],
        "--batch-size": own["batch_size"],
        "--ubatch-size": own["ubatch_size"],
        "--cache-type-k": own["cache_type_k"],
        "--cache-type-v": own["cache_type_v"],
        "--flash-attn": own["flash_attn"],
        "--ctx-checkpoints": own["ctx_checkpoints"],
        "--checkpoint-min-step": own["checkpoint_min_step"],
        "--cache-ram": own["cache_ram"],
        "--slot-prompt-similarity": own["slot_prompt_similarity_percent"] / 100,
    }
    words = [word for flag, value in flags.items() if value is not None for word in (flag, str(value))]
    if own["kv_unified"] is not None:
        words.append("--kv-unified" if own["kv_unified"] else "--no-kv-unified")
    words.append("--cache-idle-slots" if own["cache_idle_slots"] else "--no-cache-idle-slots")
    return words + (["--swa-full"] if own["swa_full"] else [])


class Server:
    """A server that runs, until the block ends. Its lines are taken as they come, so that it never waits for us."""

    def __init__(self, program, model, request):
        words = [program, "--model", model, "--no-warmup", "--n-gpu-layers", "0", "--fit", "off"]
        words += ["--threads", "1", "--host", "127.0.0.1", "--port", "0", "--log-verbosity", "4", *flags_of(request)]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self.queue = queue.SimpleQueue()
        self.reader = threading.Thread(target=self.read)
        self.port = None

    def read(self):
        for line in self.process.stdout:
            self.queue.put(line.rstrip())
        self.queue.put(None)

    def lines_until(self, last):
        """The next lines up to one with the pattern, or to the end where there is none."""
        lines = []
        while (line := self.queue.get()) is not None:
            lines.append(line)
            if found := LISTENS.search(line):
                self.port = int(found[1])
            if last.search(line):
                return lines
        self.queue.put(None)
        return lines

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()


def has_started(lines):
    return bool(lines) and STARTED.search(lines[-1]) is not None


def figures_of(lines):
    """Figures, and the line that says each."""
    settings, caches, rows, said = {}, [], {}, {}
    for line in lines:
        if found := SETTING.search(line):
            settings[found[1]] = int(found[2])
        elif found := CELLS.search(line):
            _, cells, layers, streams, keys, values = found.groups()
            caches.append({"cells": int(cells), "layers": int(layers), "streams": int(streams),
                           "k_mib": float(keys), "v_mib": float(values)})
            for figure in caches[-1]:
                said.setdefault(f"caches.{figure}", line)
        elif found := ROWS.search(line):
            rows = {"conv_mib": float(found[2]), "state_mib": float(found[3])}
            said |= dict.fromkeys(rows, line)
    figures = {
        "sequences": settings["n_seq_max"],
        "rows_per_sequence": 1 + settings["n_rs_seq"],
        "slot_cells": settings["n_ctx_seq"],
        "cells": settings["n_ctx"],
        "batch_tokens": settings["n_batch"],
        "step_tokens": settings["n_ubatch"],
        "caches": caches,
    }
    return {"figures": figures | rows, "said": said}


def refusal_in(lines):
    errors = [found[1] for line in lines if (found := REFUSAL.search(line) or ABORT.search(line))]
    return errors[0] if errors else (lines[-1] if lines else "it ended without a word")
