"""How a driver of an installed engine is spoken to: JSON lines in, JSON lines out.

The first line says which engine at which version answers and what had to be put in the place of a GPU. Then every
request is answered in its order: with figures, or with the words in which the engine refuses it.
"""

import inspect
import json
import os
import sys
import traceback


def answer_stream():
    """The stream of answers. Whatever the engine prints goes to standard error from now on, where nobody reads it as
    an answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


# What Python raises where a function is gone or takes other arguments: the driver is of another release.
UNFIT = (AttributeError, ImportError, NameError, TypeError)


class NotAsked(Exception):
    """What is asked for is nothing that this engine or its driver knows: neither figures nor a refusal."""


def where(error):
    """The innermost line of the error: file, line and function."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno} {frames[-1].name}" if frames else ""


def places(made_by):
    """Functions and classes by figure as text: name, file and line."""
    return {
        figure: f"{made.__qualname__} ({inspect.getsourcefile(made)}:{inspect.getsourcelines(made)[1]})"
        for figure, made in made_by.items()
    }


def serve(answers, hello, asks):
    """Answers every request of standard input. `asks`: by the name of what is asked, the function that answers it with
    "figures", and in "said" what the engine said beside them."""

    def say(line):
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    say(hello)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say({"id": request["id"], **asks[request["ask"]](request)})
        except NotAsked as error:
            say({"id": request["id"], "not_asked": str(error)})
        except UNFIT as error:
            say({"id": request["id"], "unfit": f"{type(error).__name__}: {error} ({where(error)})"})
        except Exception as error:  # the engine's own refusals are of many types
            say({"id": request["id"], "refused": f"{type(error).__name__}: {error} ({where(error)})"})
