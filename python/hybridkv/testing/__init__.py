"""For tests of engines: whether what one allocated for its KV cache keeps the laws of a layout (check_engine)."""

from ._engine import check_engine

__all__ = ["check_engine"]
