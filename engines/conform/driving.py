"""What drives an installed engine's scheduler with its recorder on: prompts, and a recording for every case."""

import json
import pathlib
import sys


def prompt_like(dice, earlier, content, longest):
    """A prompt of tokens of its content that begins like one of the earlier ones, for a random number of tokens."""
    length = dice.randint(1, longest)
    like = dice.choice(earlier) if earlier and dice.random() < 0.7 else []
    shared = like[: dice.randint(0, min(len(like), length - 1))]
    return shared + [content * 1_000_000 + token for token in range(len(shared), length)]


def next_turn(dice, turns, content, most):
    """A prompt that goes on behind the whole of one of the turns, for up to so many tokens."""
    turn = dice.choice(turns)
    return turn + [content * 1_000_000 + token for token in range(dice.randint(1, most))]


def prompts_of(dice, longest, count):
    """Prompts that begin like an earlier one."""
    prompts = []
    for content in range(1, count + 1):
        prompts.append(prompt_like(dice, prompts, content, longest))
    return prompts


def cases():
    """The requests of standard input, as `conform --record` wrote them."""
    for line in sys.stdin:
        request = json.loads(line)
        yield request.get("request", request)


def drive_all(folder, drive):
    """Writes FOLDER/ID.jsonl of every case that the engine takes; drive(request, path) -> steps that were made."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for request in cases():
        path = folder / f"{request['id']}.jsonl"
        try:
            print(path, drive(request, path), "steps", flush=True)
        except Exception as error:  # the engine's own refusals are of many types
            path.unlink(missing_ok=True)
            print(f"case {request['id']}: refused: {type(error).__name__}: {str(error)[:200]}", flush=True)
