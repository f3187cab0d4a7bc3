"""The plug-in of a request, as vLLM loads one: its module is imported and its entry point called."""

import contextlib
import os
import sys
import types

import vllm.platforms
from vllm.platforms.interface import Platform

NAME = "hybridkv_builder"
ORDER = "VLLM_KV_CACHE_LAYOUT"


@contextlib.contextmanager
def platform_with(text):
    """The platform that aligns blocks and names the builder: the engine's own, with the plug-in where there is one."""
    if not text:
        yield Platform
        return
    module = types.ModuleType(NAME)
    exec(compile(text, NAME, "exec"), module.__dict__)

    class Plugged(Platform):
        pass

    before, order = vllm.platforms._current_platform, os.environ.get(ORDER)
    vllm.platforms._current_platform, sys.modules[NAME] = Plugged(), module
    try:
        module.register()
        yield Plugged
    finally:
        vllm.platforms._current_platform = before
        del sys.modules[NAME]
        if order is None:
            os.environ.pop(ORDER, None)
