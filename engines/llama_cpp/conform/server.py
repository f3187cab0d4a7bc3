"""A server of the engine that is started on a tiny model, and what it prints of its caches."""

import re
import subprocess

# The last line of a start: all caches are there, and what was left to the engine is settled.
STARTED = "sched_reserve: reserve took"
SETTING = re.compile(r"llama_context: (n_\w+)\s+= (\d+)$")
SIZE = r"(\d+\.\d+) MiB"
CELLS = re.compile(rf"llama_kv_cache: size = +{SIZE} \( *(\d+) cells, +(\d+) layers, +\d+/(\d+) seqs\), "
                   rf"K \(\w+\): +{SIZE}, V \(\w+\): +{SIZE}")
ROWS = re.compile(rf"llama_memory_recurrent: size = +{SIZE} .*?, R \(\w+\): +{SIZE}, S \(\w+\): +{SIZE}")
REFUSAL = re.compile(r" E (.+)$")


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
    }
    words = [word for flag, value in flags.items() if value is not None for word in (flag, str(value))]
    if own["kv_unified"] is not None:
        words.append("--kv-unified" if own["kv_unified"] else "--no-kv-unified")
    return words + (["--swa-full"] if own["swa_full"] else [])


def lines_of_start(program, model, request):
    """What the server prints until its caches are there, or until it ends."""
    words = [program, "--model", model, "--no-warmup", "--n-gpu-layers", "0", "--fit", "off", "--host", "127.0.0.1"]
    words += ["--port", "0", "--log-verbosity", "4", *flags_of(request)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    try:
        for line in server.stdout:
            lines.append(line.rstrip())
            if STARTED in line:
                return lines, True
        return lines, False
    finally:
        server.kill()
        server.wait()


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
    errors = [found[1] for line in lines if (found := REFUSAL.search(line))]
    return errors[0] if errors else (lines[-1] if lines else "it ended without a word")
