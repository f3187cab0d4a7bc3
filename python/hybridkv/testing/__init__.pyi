from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

_Layouts = Any

def check_engine(kv_cache_config: Any, *, tensors: Mapping[str, Any] | None = None,
                 groups: Sequence[Sequence[str]] | None = None, model: Any = None, block_axis: int | None = 0,
                 progress: Callable[[str, int, int], object] | None = None) -> None: ...

class KernelLayout:
    name: str
    kind: Literal["dense", "probe", "far", "named", "plan", "own"]
    elements: int

class GroupFacts:
    group: str
    axes: list[str]
    takes: list[str]
    derives: list[dict[str, Any]]
    refuses: list[str]
    unknown: list[str]
    offset_bits: list[dict[str, Any]]

class Card:
    kernel: dict[str, str | None]
    passed: bool
    answer: str
    home: str | None
    stale_safe: bool | None
    over_reads: list[dict[str, Any]]
    layouts: list[dict[str, Any]]
    why: list[str]
    ran: dict[str, Any]
    @property
    def groups(self) -> list[GroupFacts]: ...
    @property
    def takes(self) -> dict[str, list[str]]: ...
    @property
    def derives(self) -> dict[str, list[str]]: ...
    @property
    def refuses(self) -> dict[str, list[str]]: ...
    @property
    def offset_bits(self) -> dict[str, dict[str, int | None]]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def check(self) -> Card: ...
    def save(self, path: Any) -> None: ...
    @staticmethod
    def load(path: Any) -> Card: ...

_Arrays = Literal["numpy", "torch", "cuda"]
_Dtype = Literal["fp32", "fp16", "bf16"]
_Family = Literal["mamba2", "gdn", "kda", "linear", "conv"]

def kernel_layouts(layouts: Literal["all", "probes", "named"] = "all", *, family: _Family | None = None,
                   num_blocks: int = 12, block_tokens: int = 16, kv_heads: int = 3, head_size: int = 32,
                   dtype: _Dtype = "fp32") -> list[KernelLayout]: ...
def check_attention_kernel(fn: Callable[..., Any], layouts: _Layouts = "all", *,
                           phase: Literal["decode", "prefill"] = "decode", arrays: _Arrays = "numpy",
                           dtype: _Dtype = "fp32", num_blocks: int = 12, block_tokens: int = 16, kv_heads: int = 3,
                           head_size: int = 32, queries_per_head: int = 2,
                           write: Callable[..., Any] | None = None, name: str | None = None,
                           package: str | None = None) -> Card: ...
def check_write_kernel(fn: Callable[..., Any], layouts: _Layouts = "all", *, arrays: _Arrays = "numpy",
                       dtype: _Dtype = "fp32", num_blocks: int = 12, block_tokens: int = 16, kv_heads: int = 3,
                       head_size: int = 32, padding: bool = True, name: str | None = None,
                       package: str | None = None) -> Card: ...
def check_state_kernel(step: Callable[..., Any], family: _Family, phase: Literal["decode", "prefill"] = "decode",
                       layouts: _Layouts = "all", *, arrays: _Arrays = "numpy", dtype: _Dtype = "fp32",
                       shape: Sequence[int] | None = None, name: str | None = None,
                       package: str | None = None) -> Card: ...
def check_slots(pack: Callable[..., Any], unpack: Callable[..., Any], values: Any, slot_bytes: int,
                layouts: _Layouts = "all", *, block_tokens: int = 16, tolerance: float = 0.1,
                arrays: _Arrays = "numpy", name: str | None = None, package: str | None = None) -> Card: ...
