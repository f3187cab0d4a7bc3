"""Asks an installed vLLM, without a GPU, for the figures that its own functions compute."""

import logging
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conform"))
import protocol  # noqa: E402

answers = protocol.answer_stream()
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
logging.disable(logging.WARNING)

import vllm  # noqa: E402

import planning  # noqa: E402

protocol.serve(
    answers,
    {
        "engine": "vllm",
        "version": vllm.__version__,
        "stubs": planning.STUBS,
        "made_by": protocol.places(planning.MADE_BY),
    },
    {"plan": planning.plan},
)
