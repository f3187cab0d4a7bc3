from collections.abc import Callable, Mapping, Sequence
from typing import Any

def check_engine(kv_cache_config: Any, *, tensors: Mapping[str, Any] | None = None,
                 groups: Sequence[Sequence[str]] | None = None, model: Any = None, block_axis: int | None = 0,
                 progress: Callable[[str, int, int], object] | None = None) -> None: ...
