"""Which elements a kernel reads in Triton's interpreter, those too that it masks out after it has read them."""

import contextlib
import inspect
import os
import sys

import numpy as np


def interpreted():
    """Whether kernels run in Triton's interpreter here."""
    return os.environ.get("TRITON_INTERPRET") == "1" and "triton.runtime.interpreter" in sys.modules


class TritonTrace:
    """What was read of the memory of one call after the other."""

    def __init__(self):
        self.used = False
        self._reads = []
        self._most = {}

    @contextlib.contextmanager
    def recording(self):
        """The interpreter notes every address that a load does not mask. It copies no storage onto itself, which would
        touch all of a far one, and takes arguments that are annotated as of 64 bits for such, as compiled code does:
        by itself it makes whatever fits 32 bits of 32."""
        self._reads = []
        if not interpreted():
            yield
            return
        from triton.runtime import interpreter
        self.used = True
        builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor
        load, restore, begin = builder.create_masked_load, executor._restore_args_dev, executor._init_args_hst
        convert = interpreter._implicit_cvt

        def noted(held, ptrs, mask, *rest, **named):
            seen = np.broadcast_to(mask.data, ptrs.data.shape).astype(bool)  # masks can be numbers
            self._reads.append(np.unique(ptrs.data[seen]))
            return load(held, ptrs, mask, *rest, **named)

        def restored(held, args_dev, args_hst, kwargs, kwargs_hst):
            pairs = [*zip(args_dev, args_hst), *((kwargs[name], kwargs_hst[name]) for name in kwargs)]
            pairs = [pair for pair in pairs if not _same_storage(*pair)]
            restore(held, [here for here, _ in pairs], [there for _, there in pairs], {}, {})

        def begun(held, args_dev, kwargs):
            args, named = begin(held, args_dev, kwargs)
            wide = _wide_arguments(held.fn)
            args = [_wide(arg, name in wide) for arg, name in zip(args, held.arg_names)]
            return args, {name: _wide(arg, name in wide) for name, arg in named.items()}

        def converted(arg):
            if isinstance(arg, _Wide):
                return tl.tensor(interpreter.TensorHandle(np.array([int(arg)], np.int64), tl.int64), tl.int64)
            return convert(arg)

        import triton.language as tl
        builder.create_masked_load, executor._restore_args_dev, executor._init_args_hst = noted, restored, begun
        interpreter._implicit_cvt, patch = converted, interpreter._patch_lang
        interpreter._patch_lang = _PatchOnce(interpreter, (tl, tl.core))
        try:
            yield
        finally:
            builder.create_masked_load, executor._restore_args_dev, executor._init_args_hst = load, restore, begin
            interpreter._implicit_cvt, interpreter._patch_lang = convert, patch

    def attribute(self, case):
        """Adds what was read that the batch does not address, by its owner."""
        if not self._reads:
            return
        elements = case.memory.elements_at(np.unique(np.concatenate(self._reads)).astype(np.int64))
        for owner, count in case.owners(elements).items():
            if owner not in {group.name for group in case.layout.groups}:
                self._most[owner] = max(self._most.get(owner, 0), count)

    def over_reads(self):
        """Owner -> the most elements of it that were read in one layout."""
        return dict(self._most)


class _PatchOnce:
    """The interpreter's own patch of the language, once a launch: by itself it goes through all of the language again
    for each function that a kernel calls, a quarter of the time of attention, and finds what it has patched already."""

    def __init__(self, interpreter, languages):
        self._patch, self._nothing = interpreter._patch_lang, interpreter._LangPatchScope
        self._languages, self._done = languages, set()

    def __call__(self, fn):
        needed = {each.__name__ for each in self._languages if any(value is each for value in fn.__globals__.values())}
        if self._done and needed <= self._done:
            return self._nothing()
        is_launch = not self._done
        scope = self._patch(fn)
        self._done |= needed
        if is_launch:
            restore = scope.restore

            def ended():
                restore()
                self._done.clear()

            scope.restore = ended
        return scope


class _Wide(int):
    """An argument of 64 bits."""


def _wide(arg, is_wide):
    return _Wide(arg) if is_wide and isinstance(arg, int) and not isinstance(arg, bool) else arg


def _wide_arguments(fn):
    annotations = inspect.get_annotations(fn)
    return {name for name, kind in annotations.items() if str(kind).rsplit(".", 1)[-1] in ("int64", "i64")}


def _same_storage(here, there):
    return hasattr(here, "untyped_storage") and hasattr(there, "untyped_storage") and (
        here.untyped_storage().data_ptr() == there.untyped_storage().data_ptr())
