"""What the server makes of prompts that come one after the other: what it answers, and what it logs of each."""

import http.client
import json
import re

TOKENS = 256  # those of single bytes, which are all that the vocabulary has beside its end

OF_A_SLOT = r"slot +\S+: id +(\d+) \| .*"
CHOSEN = re.compile(OF_A_SLOT + r"selected slot by")
SAVED = re.compile(r" - saving prompt with length (\d+)")
NOT_SAVED = re.compile(r" - prompt is already in the cache| - prompt state size .* exceeds cache size limit")
LOADED = re.compile(r" - found better prompt with")
LISTED = re.compile(r" - cache state: \d+ prompts")
ENTRY = re.compile(r"   - prompt \S+: +(\d+) tokens")
RESTORED = re.compile(r"restored context checkpoint .*n_tokens = (\d+)")
STEP = re.compile(r"cached n_tokens = (\d+), memory_seq_rm")
ENDED = re.compile(r"stop processing: n_tokens = (\d+)")
# Figures that are the numbers of all such lines.
LISTS = {
    "erased": re.compile(r"erased invalidated context checkpoint .*n_tokens = (\d+)"),
    "steps": STEP,
    "made": re.compile(r"created context checkpoint .*n_tokens = (\d+)"),
    "dropped": re.compile(r"(?:erasing old context checkpoint|erasing context checkpoint too close|"
                          r"superseding context checkpoint).* n_tokens = (\d+)"),
    "gave_way": re.compile(r"purging slot (\d+) with"),
}

# The functions of the engine that print or answer them.
MADE_BY = {
    "replay.slot": "server_context get_available_slot",
    "replay.saved": "server_prompt_cache::alloc",
    "replay.loads": "server_prompt_cache::load",
    "replay.entries": "server_prompt_cache::update",
    "replay.gave_way": "server_context try_clear_idle_slots",
    **dict.fromkeys(("replay.made", "replay.dropped"), "server_context create_checkpoint"),
    **dict.fromkeys(("replay.restored", "replay.found", "replay.erased", "replay.steps"), "server_context pre_decode"),
    **dict.fromkeys(("replay.computed", "replay.held"), "POST /completion"),
}


def tokens_of(prompt):
    """A token is a function of its content and of its position: no two contents share one at a position."""
    tokens = []
    for content, count in prompt:
        tokens += [(31 * content + position) % TOKENS for position in range(len(tokens), len(tokens) + count)]
    return tokens


def figures_of(lines, answer, entries):
    """Of one prompt, and the lines that say each. `entries` are the saved prompts before it."""
    figures = {"slot": -1, "saved": [], "loads": False, "entries": entries, "restored": 0, "found": -1, "erased": []}
    figures |= {"steps": [], "made": [], "dropped": [], "gave_way": [], "computed": 0, "held": 0}
    said = {}

    def say(figure, line):
        said[figure] = f"{said[figure]} / {line}" if figure in said else line

    for line in lines:
        if found := CHOSEN.search(line):
            figures["slot"] = int(found[1])
            say("slot", line)
        elif found := SAVED.search(line):
            figures["saved"].append(int(found[1]))
            say("saved", line)
        elif NOT_SAVED.search(line):
            figures["saved"].pop()
            say("saved", line)
        elif LOADED.search(line):
            figures["loads"] = True
            say("loads", line)
        elif LISTED.search(line):
            figures["entries"] = []
            said["entries"] = line
        elif found := ENTRY.search(line):
            figures["entries"].append(int(found[1]))
            say("entries", line)
        elif found := RESTORED.search(line):
            figures["restored"] = int(found[1])
            say("restored", line)
        elif found := ENDED.search(line):
            figures["held"] = int(found[1])
            say("held", line)
        else:
            for figure, pattern in LISTS.items():
                if found := pattern.search(line):
                    figures[figure].append(int(found[1]))
                    say(figure, line)
    if timings := answer.get("timings"):
        figures |= {"found": timings["cache_n"], "computed": timings["prompt_n"]}
        say("found", json.dumps(timings))
    return figures, said


def replay(running, prompts):
    """Figures of every prompt in a server that listens, and what it said of them by their place in the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    figures, said = [], {}
    for number, prompt in enumerate(prompts):
        asked = {"prompt": tokens_of(prompt), "n_predict": 1, "cache_prompt": True, "temperature": 0}
        connection.request("POST", "/completion", json.dumps(asked), {"Content-Type": "application/json"})
        answer = json.load(connection.getresponse())
        one, lines = figures_of(running.lines_until(ENDED), answer, figures[-1]["entries"] if figures else [])
        figures.append(one)
        said |= {f"replay[{number}].{figure}": text for figure, text in lines.items()}
    return figures, said
