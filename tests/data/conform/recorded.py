"""A driver that answers from a record of HYBRIDKV_FAKE_ENGINE at version HYBRIDKV_FAKE_VERSION, or as
HYBRIDKV_FAKE_DRIVER says: differs, slots, hits, kept, cells, steps, ends, unasked, refuses, dies, talks, newer, unfit,
another: that version is not the one whose rules are asked, so that other prompts may be."""

import gzip
import json
import os
import pathlib
import sys

KIND = os.environ.get("HYBRIDKV_FAKE_DRIVER", "agrees")
ENGINE = os.environ.get("HYBRIDKV_FAKE_ENGINE", "vllm")
VERSION = os.environ.get("HYBRIDKV_FAKE_VERSION", "0.33.0")
STUBS = ["everything: a record answers"]


def say(line):
    print(json.dumps(line), flush=True)


def without_id(request):
    return {key: value for key, value in request.items() if key != "id"}


def answer_of(request, record):
    if KIND == "ends":
        split = request["engine"]["max_running_requests"] == 3 and not request["engine"]["own"]["kv_unified"]
        return {"refused": "an assertion failed"} if split and not request["prompts"] else {"not_asked": "all but one"}
    for key, value in without_id(request).items():
        if record[key] != value and not (KIND == "another" and key == "prompts"):
            return {"unfit": f"case {request['id']} was recorded with another {key}"}
    answer = {key: record[key] for key in ("figures", "refused") if key in record}
    if KIND == "differs" and request["id"] == 3 and "figures" in answer:
        answer["figures"]["block_size_tokens"] += 16
        answer["said"] = {"block_size_tokens": "a block of 16 tokens more"}
    if KIND == "slots" and request["id"] == 0:
        answer["figures"]["state_slots"] -= 1
    if KIND == "hits" and request["id"] == 0:
        answer["figures"]["replay"][3]["hit_tokens"] += 64
    if KIND == "kept" and request["id"] == 0:
        for prompt in answer["figures"]["replay"][1:]:
            prompt["tree_states"] -= 1
    if KIND == "cells" and request["id"] == 0:
        answer["figures"]["slot_cells"] -= 256
    if KIND == "steps" and request["id"] == FIRST_REPLAY:
        answer["figures"]["replay"][1]["steps"][-1] -= 4
        answer["said"] = {"replay[1].steps": "a tail of 4 tokens more"}
    if KIND == "unasked" and request["id"] == 0:
        answer = {"not_asked": "the architecture of a model"}
    if KIND == "refuses" and request["id"] == 2:
        answer = {"refused": "ValueError: not today"}
    if KIND == "unfit":
        answer = {"unfit": "AttributeError: no such function"}
    return answer


if KIND == "dies":
    sys.exit("no engine is installed")
if KIND == "talks":
    print("hello", flush=True)
say(
    {
        "engine": ENGINE,
        "version": "0.34.0" if KIND == "newer" else VERSION,
        "stubs": STUBS,
        "made_by": {"block_size_tokens": "planned_block (planning.py:7)"},
    }
)
with gzip.open(pathlib.Path(__file__).with_name(f"{ENGINE}-{VERSION}.jsonl.gz"), "rt") as lines:
    records = [json.loads(line) for line in lines]
FIRST_REPLAY = next((i for i, record in enumerate(records) if record["prompts"] and "figures" in record), None)
for line in sys.stdin:
    request = json.loads(line)
    if KIND == "another" and "builder" in request:
        say({"id": request["id"], "not_asked": "a plug-in, which that release has no door for"})
        continue
    say({"id": request["id"], **answer_of(request, records[request["id"]])})
