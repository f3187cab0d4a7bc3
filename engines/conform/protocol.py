"""How a driver of an installed engine is spoken to: JSON lines in, JSON lines out.

The first line says which engine at which version answers and what had to be put in the place of a GPU. Then every
request is answered in its order: with figures, or with the words in which the engine refuses it.
"""

import json
import os
import sys


def answer_stream():
    """The stream of answers. Whatever the engine prints goes to standard error from now on, where nobody reads it as
    an answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def serve(answers, hello, asks):
    """Answers every request of standard input. `asks`: by the name of what is asked, the function that answers it."""

    def say(line):
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    say(hello)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say({"id": request["id"], "figures": asks[request["ask"]](request)})
        except Exception as error:  # the engine's own refusals are of many types
            say({"id": request["id"], "refused": f"{type(error).__name__}: {error}"})
