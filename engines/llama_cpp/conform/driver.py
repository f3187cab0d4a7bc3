"""Asks an installed llama-server for the sizes of its caches, and what it makes of prompts: it is started, without a
GPU, on tiny models that are written here. The argument is the program of the server."""

import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conform"))
import protocol  # noqa: E402

answers = protocol.answer_stream()

import architectures  # noqa: E402
import gguf_file  # noqa: E402
import layers  # noqa: E402
import replaying  # noqa: E402
import server  # noqa: E402

STUBS = [
    "the weights: of the told heads, states and order of layers, the rest small, all zero",
    "the tokenizer: prompts come as the numbers of tokens, a function of their content and position",
    "a GPU: every layer is on the CPU (--n-gpu-layers 0)",
]

# The functions of the engine that print the figures.
MADE_BY = {
    **dict.fromkeys(
        ("sequences", "rows_per_sequence", "slot_cells", "cells", "batch_tokens", "step_tokens"), "llama_context"
    ),
    **dict.fromkeys(
        ("caches.cells", "caches.layers", "caches.streams", "caches.k_mib", "caches.v_mib"), "llama_kv_cache"
    ),
    **dict.fromkeys(("conv_mib", "state_mib"), "llama_memory_recurrent"),
    **replaying.MADE_BY,
}


def plan(request):
    if request["engine"]["tensor_parallel"] != 1 or request["engine"]["speculative_tokens"]:
        return {"not_asked": "several ranks, and drafts"}
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "tiny.gguf")
        try:
            gguf_file.write(model, *architectures.keys_and_tensors(request["model"]))
        except layers.NotAsked as reason:
            return {"not_asked": str(reason)}
        with server.Server(program, model, request) as running:
            return answer_of(running, request["prompts"])


def answer_of(running, prompts):
    lines = running.lines_until(server.STARTED)
    if not server.has_started(lines):
        return {"refused": server.refusal_in(lines)}
    answer = server.figures_of(lines)
    if prompts:
        running.lines_until(server.LISTENS)
        answer["figures"]["replay"], said = replaying.replay(running, prompts)
        answer["said"] |= said
    return answer


if len(sys.argv) != 2:
    sys.exit("the program of the server is missing: --llama-server FILE")
program = sys.argv[1]
protocol.serve(
    answers,
    {"engine": "llama.cpp", "version": server.version_of(program), "stubs": STUBS, "made_by": MADE_BY},
    {"plan": plan},
)
