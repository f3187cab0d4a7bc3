"""Asks an installed SGLang, without a GPU, for the figures that its own classes compute."""

import logging
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conform"))
import protocol  # noqa: E402

answers = protocol.answer_stream()
warnings.simplefilter("ignore")

import sglang  # noqa: E402

import pools  # noqa: E402

logging.disable(logging.WARNING)
protocol.serve(
    answers,
    {
        "engine": "sglang",
        "version": sglang.__version__,
        "stubs": pools.STUBS,
        "made_by": protocol.places(pools.MADE_BY),
    },
    {"plan": pools.plan},
)
