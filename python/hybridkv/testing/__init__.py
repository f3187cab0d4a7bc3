"""For tests of engines: whether what one allocated for its KV cache keeps the laws of a layout (check_engine), and
whether a kernel survives layouts other than the dense one (check_attention_kernel and its like, which need NumPy)."""

from ._engine import check_engine

_OF_KERNELS = ("Card", "KernelLayout", "check_attention_kernel", "check_slots", "check_state_kernel",
               "check_write_kernel", "kernel_layouts")
__all__ = ["check_engine", *_OF_KERNELS]


def __dir__():
    return sorted({*globals(), *_OF_KERNELS})


def __getattr__(name):
    if name not in _OF_KERNELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import _cache_views, _card, _kernel_checks
    except ImportError as error:
        if error.name != "numpy":
            raise
        raise ImportError("checks of kernels need NumPy: pip install numpy") from None
    return getattr({"Card": _card, "KernelLayout": _cache_views}.get(name, _kernel_checks), name)
