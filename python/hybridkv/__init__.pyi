# Written by python/make_stubs.py from the schemas; what is written by hand is in python/stubs.in.
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, overload

import numpy as np
from typing_extensions import Unpack

__version__: str
Path = str | os.PathLike[str]
Model = str | os.PathLike[str] | Mapping[str, Any] | Any
Scenario = str | os.PathLike[str] | Mapping[str, Any] | Any | None
Ids = str | os.PathLike[str] | Iterable[Any] | None
Progress = bool | Callable[[str, int, int], object] | None

class Prefix(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def saved_tokens(self) -> int: ...
    @property
    def memory_tokens(self) -> float: ...
    @property
    def uses(self) -> int: ...
    @property
    def turn(self) -> int: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def branches(self) -> int: ...
    @property
    def longer(self) -> int: ...
    @property
    def made(self) -> int: ...
    @property
    def last_use(self) -> int: ...
    @property
    def now(self) -> int: ...

class Policy(Protocol):
    def rank(self, prefix: Prefix, /) -> float: ...

class HybridkvError(Exception): ...
class InputError(HybridkvError, ValueError):
    field: str | None
    value: Any
    place: str | None
    remedy: str | None
class ResourceError(HybridkvError, MemoryError): ...
class ProgramError(HybridkvError, RuntimeError): ...
class AssumptionWarning(UserWarning): ...

class Record:
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_pandas(self) -> Any: ...

T = TypeVar("T", bound=Record)

class Records(Sequence[T], Generic[T]):
    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Records[T]: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> list[dict[str, Any]]: ...
    def to_pandas(self) -> Any: ...

class Capacity(Record):
    # Tokens of one request.
    max_model_len: int
    # Block ids it takes, all groups together.
    blocks_per_request: int
    # Those blocks in all pools, extras included.
    bytes_per_request: int
    # Without paging: K and V of its tokens and one state a layer.
    ideal_bytes_per_request: int
    # num_blocks / blocks_per_request, as engines print it: the null block counts.
    max_concurrency: float
    # By the engine's token rule.
    kv_cache_tokens: int
    # num_blocks >= blocks_per_request, as engines check; some do without the null block.
    fits: bool
    # The same without the null block.
    usable_concurrency: float
    # What the block ids of one request are for; their sum is blocks_per_request.
    ids_by_cause: Record
    # int(max_concurrency * max_model_len).
    kv_cache_tokens_by_concurrency: int
    # num_blocks // groups * smallest block of a group.
    kv_cache_tokens_by_floor: int

class Prefix(Record):
    # Hits are multiples of it: lcm of the groups' blocks, in mode none of attention's, 0 without any.
    match_unit_tokens: int
    # Shortest shared prefix that can ever hit; null where none can.
    min_cacheable_prefix_tokens: int | None
    # False where nothing is ever found again.
    cacheable: bool
    # A second copy of a prompt this long or shorter hits nothing.
    duplicate_misses_up_to_tokens: int
    # And one whose length is a multiple of this; null: no such lengths.
    duplicate_misses_multiples_of_tokens: int | None
    # S: lcm of the groups' blocks; left out for releases before chain hashes of h tokens.
    scheduler_block_tokens: int
    # h: tokens of a chain hash; with S.
    hash_block_tokens: int
    # Why the engine refuses the match unit.
    match_error: str

class Waste(Record):
    # One per group.
    per_block: Records[Record]
    # Where every byte of the pools goes under a load: pool = used + wasted + free.
    at_load: Record
    # Memory that is no whole block for every pool.
    unallocated_bytes: int

class Spec(Record):
    # Position in specs.
    id: int
    # What the layers cache.
    kind: str
    # Layer numbers in the model; MTP layers go on counting, a draft counts from 0.
    layers: list[int]
    # B; of recurrent layers in mode none the longest length.
    block_size_tokens: int
    # b: sub-block that the attention kernel addresses; divides the block.
    kernel_block_size_tokens: int
    # a1: K and V of one token in one layer on one rank.
    bytes_per_token: int
    # Of an indexer whose entries stand for several tokens: so many share those bytes; default 1.
    tokens_per_entry: int
    # What one recurrent layer keeps for one sequence position.
    state: Record
    # N * B * a1 of attention, M of recurrent layers.
    unpadded_page_bytes: int
    # 100 * (P - unpadded) / unpadded.
    padding_percent: float
    # True for the layers of a draft model.
    draft: bool
    # True for layers beside the model's own, which do not size the groups.
    auxiliary: bool
    # N of attention, 1 of recurrent layers.
    layers_per_page: int
    # Packs or recurrent layers: ceil(layers / layers_per_page).
    num_pages: int
    # c: blocks of a request and group for a state that a chunk exports; default 0.
    checkpoint_blocks: int
    # Of a ring, one id of every request: tokens that it holds; default 0, no ring.
    ring_tokens: int
    # Of cross attention: tokens of the encoder whose K and V a request has; default 0, none.
    encoder_tokens: int
    # What one rank keeps of an attention layer, as its backend indexes it.
    attention: Record

class Group(Record):
    # Id of its spec.
    spec: int
    # All layers of the group, in pool order.
    layers: list[int]
    # Pool positions that the group leaves empty.
    padding_slots: int
    # Per pool position, the layers of that page in pack order.
    pages: list[list[int]]
    # Position in arenas of its ids; default 0.
    arena: int
    # Lane of its page 0; page j is j lanes on. Default 0.
    first_lane: int
    # Ids of one table entry; default 1. More where a state lies in several pages.
    ids_per_entry: int
    # Table entries in one id; default 1. More where large pages are split among small ones.
    entries_per_id: int
    # True where its table and ids are those of the group before it; default false.
    shares_table: bool
    # Lanes over which a page is spread; default 1. One a head where heads are outside the blocks.
    lanes_per_page: int
    # Where its pages lie side by side in the pieces of its first lane; default: a lane a page.
    in_lane: Record
    # True where its table holds layers of a drafter, here or on another stage; default false.
    drafts: bool
    # Of an id, that no page of its table uses; default 0.
    hole_bytes: int
    # Which tensor of the state lies here alone; default: all, one behind the other.
    tensor: int

class Pool(Record):
    # num_blocks * page_bytes, of one allocation of all layers num_blocks * bytes_per_block.
    bytes: int
    # P.
    page_bytes: int
    # The layers in it, in the order of the groups.
    shared_by: Records[Record]

class Arena(Record):
    # Position in arenas.
    id: int
    # How messages call its ids.
    name: str
    # Null id 0 included.
    num_ids: int
    # Without the null id.
    usable_ids: int
    # Over its lanes, and what lies beside them.
    bytes_per_id: int
    # False where id 0 is an id like all others; default true.
    has_null_id: bool
    # Lanes of a plan are counted through its arenas.
    lanes: Records[Record]

class View(Record):
    # Id of the spec.
    spec: int
    # Layer number.
    layer: int
    # kv, conv or ssm.
    tensor: str
    # Position in pools.
    pool: int
    # Element type.
    dtype: str
    # Their names, in the order a backend indexes them; block: kernel blocks or pages.
    axes: list[str]
    # Extent of each axis.
    shape: list[int]
    # Elements of dtype between neighbours on each axis.
    strides: list[int]
    # Elements of dtype from the first byte of the pool.
    offset: int
    # The strides in bytes.
    strides_bytes: list[int]
    # The offset in bytes.
    offset_bytes: int
    # Position among the lanes of all arenas; default: that of the pool.
    lane: int
    # Which of the ids of a table entry its block axis counts; default 0.
    piece: int
    # Of a tensor that lies in several pieces, the element at which this one begins; default 0.
    first_element: int

class Decision(Record):
    # A number or word of a derivation.
    result: Record
    # The formula in the symbols of the inputs.
    rule: str
    # What went in.
    inputs: Records[Record]
    # Who says so.
    source: str

class PlanWarning(Record):
    # Stable name.
    code: str
    # One sentence with the numbers and the reason.
    message: str

class Pools:
    plan: Plan
    @property
    def reserved_bytes(self) -> int: ...
    @property
    def resident_bytes(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> np.ndarray[Any, np.dtype[np.uint8]]: ...
    def view(self, layer: int, tensor: str = "kv", *, spec: int | None = None,
             piece: int | None = None) -> np.ndarray[Any, Any]: ...
    def reader(self, layer: int, what: str, *, spec: int | None = None) -> Any: ...

class Plan(Record):
    # The engine whose rules these are.
    release: str
    # Whose declarations of attention and state backends are taken; left out where none is named.
    backend_profile: str
    # N.
    attention_pack_size: int
    # Where recurrent states are kept for prefix caching.
    cache_mode: str
    # Draft tokens of a step.
    speculative_tokens: int
    # Tokens of one step; bounds what a sliding window holds.
    max_num_batched_tokens: int
    # Steps in flight, with whose tokens a sliding window holds; default 1.
    concurrent_batches: int
    # Tokens behind a prefix that its key covers too, for a drafter; default 0.
    lookahead_tokens: int
    # Ranks over which the tokens of full attention are spread; default 1.
    decode_context_parallel: int
    # How layers are arranged; default packed_attention.
    strategy: str
    # Rules of no engine that the plan follows in place of the engine's own; it is modelled.
    what_if: Record
    # In the order of their first layer.
    specs: Records[Spec]
    # Layers, blocks, heads, tokens, bytes of the one allocation, outermost first; else left out.
    physical_order: str
    # P, of every page; left out where pages differ.
    page_bytes: int
    # In the order of their specs.
    groups: Records[Group]
    # Beside the pages.
    extras: Records[Record]
    # Ids of the only arena, null block 0 included; left out where arenas are several.
    num_blocks: int
    # Without the null block.
    usable_blocks: int
    # W: bytes of an id of the only arena, with what lies beside its pages.
    bytes_per_block: int
    # Ids and the bytes that they own.
    arenas: Records[Arena]
    # The same lanes in one list, where pools have pages or ids of their own.
    lanes: Records[Record]
    # Layers that cache no K and V and read those of another one.
    shared_kv: Records[Record]
    # The two pools of an engine with a radix tree; left out for engines with blocks.
    radix: Record
    # How memory was shared between blocks and states; of strategy pool_groups alone.
    pool_groups: Record
    # Rows by sequence, and checkpoints on the host; of strategy sequence_rows alone.
    sequence_rows: Record
    # One per length that was asked about.
    capacity: Records[Capacity]
    # Longest request that the usable blocks hold; 1099511627776 where they hold any.
    max_fitting_tokens: int
    # true where no length is too long for the blocks; else it is left out.
    any_length_fits: bool
    # Requests of one token that the usable blocks hold.
    max_running_requests: int
    # The same counting states alone; 0 without any.
    max_running_requests_by_states: int
    # What a request of one token costs.
    one_token_request_bytes: int
    # How finely a prefix can be found again.
    prefix: Prefix
    # What is lost, itemised twice.
    waste: Waste
    # What the engine allocates, group by group, where all layers share one allocation.
    tensors: Records[Record]
    # In the order of the groups and pools.
    views: Records[View]
    # Why the engine makes no views though its planning passes; left out where it makes them.
    view_error: str
    # Bytes of the attention biases of a stated batch; null where none was stated.
    workspace: Record | None
    # May be empty.
    warnings: Records[PlanWarning]
    # Of each card that was given; left out where none was.
    kernels: Records[Record]
    # In the order in which the decisions were taken.
    derivation: Records[Decision]
    model: str
    tensor_parallel: int
    def to_json(self) -> str: ...
    def explain(self, name: str | None = None) -> str: ...
    def pools(self, num_blocks: int | None = None, *, beyond_memory: bool = False) -> Pools: ...
    def view(self, layer: int, tensor: str = "kv", *, spec: int | None = None,
             piece: int | None = None) -> np.ndarray[Any, Any]: ...
    def as_strided(self, layer: int, tensor: str = "kv", *, spec: int | None = None,
                   piece: int | None = None) -> tuple[tuple[int, ...], tuple[int, ...], int]: ...

class Plans(Records[Plan]):
    def to_json(self) -> str: ...

class Explanation(Record):
    plans: Records[Record]
class Verification(Record):
    model: str
    rules: str
    runs: Records[Record]
    @property
    def passed(self) -> bool: ...
class ForwardResult(Record):
    model: str
    attention_pack_size: int
    scale: int
    fault: str
    block_size_tokens: int
    case: str
    status: str
    tokens: int
    max_error: float
    tolerance: float
    message: str
class ForwardVerification(Record):
    passed: bool
    results: Records[ForwardResult]
class Simulation(Record):
    trace: str
    statuses: tuple[str, ...]
    @property
    def records(self) -> np.ndarray[Any, Any]: ...
class Fleet(Record):
    trace: str
    replicas: int
    routers: Records
    caches: Records
class Bound(Record):
    trace: str
    layouts: Records[Record]
class Boot(Record):
    boots: bool
    result: str
    lines: list[str]
class Audit(Record):
    result: str
    text: str
    findings: Records[Record]
    @property
    def is_right(self) -> bool: ...
class Diagnosis(Record):
    explained: Record
    contradictions: list[str]
class Trace(Record):
    trace: str
    requests: int
class Recommendation(Record):
    model: str
    pick: int
    candidates: Records[Record]
    front: list[int]
    commands: list[str]
class Checkpoints(Record):
    trace: str
    places: Records[Record]
    settings: Records[Record]
class Comparison(Record):
    best: str | None
    settings: Records[Record]
    rows: Records[Record]
    def differences(self) -> list[Record]: ...
class Transfer(Record):
    model: str
    tokens: int
    @property
    def copies(self) -> np.ndarray[Any, Any]: ...
    @property
    def contents(self) -> Records[Record]: ...
    @property
    def from_ids(self) -> list[list[np.ma.MaskedArray[Any, np.dtype[np.int64]]]]: ...
    @property
    def to_ids(self) -> list[list[np.ma.MaskedArray[Any, np.dtype[np.int64]]]]: ...
class TransferLayouts(Record):
    model: str
    tokens: int
    layouts: Records[Record]
class SweepRow(Record):
    point: int
    status: str
class Sweep(Records[SweepRow]): ...
class ImportedModel:
    name: str
    yaml: str
    notes: list[str]
    def save(self, path: Path) -> None: ...

class Keys(TypedDict, total=False):
    release: Any
    backend_profile: Any
    checkpoint_alignment_tokens: Any
    checkpoint_blocks: Any
    tensor_parallel: Any
    pad_heads: Any
    pipeline_parallel: Any
    pipeline_rank: Any
    pipeline_layers: Any
    pipeline_memory: Any
    decode_context_parallel: Any
    strategy: Any
    state_memory_ratio: Any
    state_requests: Any
    max_running_requests: Any
    use_replayssm: Any
    replayssm_buffer_len: Any
    mamba_backend: Any
    enable_mamba_shared_prefix_checkpoint: Any
    enable_mamba_cache_stochastic_rounding: Any
    mamba_radix_cache_strategy: Any
    overlap_schedule: Any
    skip_decode_lock: Any
    unified_memory: Any
    linear_replayssm_spec: Any
    page_size: Any
    mamba_track_interval: Any
    max_mamba_cache_size: Any
    max_total_tokens: Any
    attention_data_parallel: Any
    enable_hierarchical_cache: Any
    hicache_ratio: Any
    hicache_size: Any
    hicache_write_policy: Any
    max_batch_size: Any
    tokens_per_block: Any
    avg_seq_len: Any
    pool_ratio: Any
    periodic_snapshot_interval: Any
    mamba_state_cache_interval: Any
    additional_snapshot_offsets_from_start: Any
    additional_snapshot_offsets_from_end: Any
    enable_branch_snapshot: Any
    enable_partial_reuse: Any
    prunes_stale_leaves: Any
    host_cache_size: Any
    use_kv_cache_manager_v2: Any
    ctx_checkpoints: Any
    checkpoint_min_step: Any
    ctx_size: Any
    kv_unified: Any
    batch_size: Any
    ubatch_size: Any
    cache_ram: Any
    cache_idle_slots: Any
    slot_prompt_similarity_percent: Any
    swa_full: Any
    cache_type_k: Any
    cache_type_v: Any
    flash_attn: Any
    spec_type: Any
    kv_dtype: Any
    conv_dtype: Any
    conv_state_layout: Any
    ssm_dtype: Any
    cache_mode: Any
    layers_per_group: Any
    block_size_tokens: Any
    mamba_block_size_tokens: Any
    kernel_alignment_tokens: Any
    kernel_block_sizes: Any
    page_alignment_bytes: Any
    backend_form: Any
    physical_order: Any
    speculative_tokens: Any
    mtp_layers: Any
    draft: Any
    what_if: Any
    encoder_tokens: Any
    hidden_state_size: Any
    memory: Any
    num_blocks: Any
    max_num_batched_tokens: Any
    concurrent_batches: Any
    prefix_match_unit_tokens: Any
    hybrid_manager: Any
    token_rule: Any
    max_model_len: Any
    longest_prompt_tokens: Any
    load_tokens: Any
    trace: Path | Mapping[str, Any]
    driver: Any
    in_flight: Any
    think_seconds: Any
    cost: Any
    clock: Any
    fleet: Any
    eviction: Any
    host_memory: Any
    host_state_share: Any
    host_bandwidth: Any
    host_write: Any
    upper_bounds: Any
    losses: Any
    branch_point: Any
    retention_interval_tokens: Any
    keep_all_checkpoints: Any
    checkpoint_back: Any
    match_unit_tokens: Any
    max_num_seqs: Any
    max_num_active_seqs: Any
    acceptance: Any
    watermark: Any
    long_prefill_threshold_tokens: Any
    long_prefill_threshold_adaptive: Any
    seed: Any
    resident_budget: Any
    pack_sizes: Any
    query_tokens: Any
    shared_blocks: Any
    chunk_blocks: Any
    dtype: Any
    file: Any
    form: Any
    skip_bad_lines: Any
    prompts: Any
    synthetic: Any
    max_requests: Any
    per_prefill_token: Any
    per_decode_step: Any
    per_copied_state: Any
    gpu: Any
    gpus: Any
    calibrated: Any
    ttft_seconds: Any
    tpot_seconds: Any
    rate: Any
    price_per_gpu_hour: Any
    replicas: Any
    slow: Any
    down: Any
    router: Any
    router_block_tokens: Any
    router_delay_seconds: Any
    prefix_weight: Any
    queue_weight: Any
    usage_weight: Any
    decode_replicas: Any
    link_bandwidth: Any
    name: Any
    model: Model | Sequence[Model]
    engine: str | Mapping[str, Any] | Sequence[str]
    limits: Any
    workspace: Any

@overload
def plan(scenario: Scenario = None, /, *, attention_pack_size: Sequence[int], detail: Literal["full", "numbers"] = ...,
         kernels: Path | Iterable[Path] = (), **keys: Unpack[Keys]) -> Plans: ...
@overload
def plan(scenario: Scenario = None, /, *, attention_pack_size: int = ..., detail: Literal["full", "numbers"] = ...,
         kernels: Path | Iterable[Path] = (), **keys: Unpack[Keys]) -> Plan: ...
def explain(scenario: Scenario = None, /, *, number: str | int | float | None = None,
            attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Explanation: ...
class ByteOwners(Record):
    pool: int
    offset_bytes: int
    pool_bytes: int
    arena: str | None
    id: int | None
    byte_of_piece: int | None
    is_null: bool
    owners: Records
def whose(scenario: Scenario = None, /, *, byte: int, pool: int = 0, **keys: Unpack[Keys]) -> ByteOwners: ...
@overload
def verify(scenario: Scenario = None, /, *, inject: str | Sequence[str] = (), forward: Literal[False] = ...,
           progress: Progress = None, attention_pack_size: int | Sequence[int] = ...,
           **keys: Unpack[Keys]) -> Verification: ...
@overload
def verify(scenario: Scenario = None, /, *, forward: Literal[True], inject: str | Sequence[str] = (),
           scale: int | None = None, cases: str | Sequence[str] = (), progress: Progress = None,
           attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> ForwardVerification: ...
def simulate(scenario: Scenario = None, /, requests: Iterable[Any] | None = None, *, records: bool = True,
             policy: Callable[[], Policy] | Path | None = None, progress: Progress = None, attention_pack_size: int | Sequence[int] = ...,
             **keys: Unpack[Keys]) -> Simulation: ...
def fleet(scenario: Scenario = None, /, requests: Iterable[Any] | None = None, *,
          policy: Callable[[], Policy] | Path | None = None, progress: Progress = None, attention_pack_size: int | Sequence[int] = ...,
          **keys: Unpack[Keys]) -> Fleet: ...
def bound(scenario: Scenario = None, /, *, progress: Progress = None, attention_pack_size: int | Sequence[int] = ...,
          **keys: Unpack[Keys]) -> Bound: ...
def boot(scenario: Scenario = None, /, *, gpu: str | None = None, gpu_memory: str | int | None = None,
         utilization: float | str | None = None, weights: str | int | None = None, beside: str | int | None = None,
         available_memory: str | int | None = None, max_num_seqs: int | None = None, enforce_eager: bool = False,
         kernels: Path | Iterable[Path] = (), attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Boot: ...
def doctor(log: Path, /, *, trace: Path | None = None, progress: Progress = None,
           **keys: Unpack[Keys]) -> Diagnosis: ...
def audit(recording: Path, /, *, progress: Progress = None) -> Audit: ...
def trace(file: Path | None = None, /, scenario: Scenario = None, *, progress: Progress = None,
          attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Trace: ...
def models(name: str = "", /, *, family: str = "") -> Records[Record]: ...
@overload
def recommend(scenario: Scenario = None, /, *, at_length: int | None = None, min_concurrency: float | None = None,
              give_up_percent: float | None = None, packs: int | Iterable[int] = (),
              block_sizes: int | Iterable[int] = (), kernel_blocks: int | Iterable[int] = (),
              min_kernel_block: int | None = None, modes: str | Iterable[str] = (),
              match_units: int | Iterable[int] = (), retentions: int | Iterable[int | None] = (),
              search: str | None = None, strategies: str | Iterable[str] = (), ratios: float | Iterable[float] = (),
              page_sizes: int | Iterable[int] = (), track_intervals: int | Iterable[int] = (),
              snapshots: str | Iterable[str] = (), snapshot_intervals: int | Iterable[int] = (),
              slots: int | Iterable[int] = (), slot_checkpoints: int | Iterable[int] = (),
              checkpoint_steps: int | Iterable[int] = (), cache_rams: int | Iterable[int] = (),
              prompt_tokens: int | None = None, shared_prefix_tokens: int | None = None,
              kernels: Path | Iterable[Path] = (), checkpoints: Literal[False] = ..., progress: Progress = None,
              attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Recommendation: ...
@overload
def recommend(scenario: Scenario = None, /, *, checkpoints: Literal[True],
              retentions: int | Iterable[int | None] = (), prompt_tokens: int | None = None,
              shared_prefix_tokens: int | None = None, progress: Progress = None,
              attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Checkpoints: ...
def compare(scenario: Scenario = None, /, *scenarios: Scenario, vary: Mapping[str, Sequence[Any]] | None = None,
            replay: bool = False, kernels: Path | Iterable[Path] = (), progress: Progress = None,
            attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Comparison: ...
@overload
def transfer(scenario: Scenario = None, /, to: Scenario = None, *, to_keys: Mapping[str, Any] | None = None,
             tokens: int | None = None, present_tokens: int = 0, ids: Literal["scattered", "consecutive"] = "scattered",
             from_ids: Ids = None, to_ids: Ids = None, as_prefix: bool = False, convert: str | Sequence[str] = (),
             alternatives: Literal[False] = ..., verify: bool = False, inject: str | Sequence[str] = (),
             progress: Progress = None, attention_pack_size: int = ..., **keys: Unpack[Keys]) -> Transfer: ...
@overload
def transfer(scenario: Scenario = None, /, to: Scenario = None, *, alternatives: Literal[True],
             to_keys: Mapping[str, Any] | None = None, tokens: int | None = None, present_tokens: int = 0,
             ids: Literal["scattered", "consecutive"] = "scattered", from_ids: Ids = None, to_ids: Ids = None,
             as_prefix: bool = False, convert: str | Sequence[str] = (), progress: Progress = None,
             attention_pack_size: int = ..., **keys: Unpack[Keys]) -> TransferLayouts: ...
def sweep(scenario: Scenario = None, /, *, verify: bool = False, simulate: bool = False,
          executor: Executor | None = None, shards: int | None = None, progress: Progress = None,
          attention_pack_size: int | Sequence[int] = ..., **keys: Unpack[Keys]) -> Sweep: ...
def import_config(config: Model, /, *, name: str = "", dtype: str = "") -> ImportedModel: ...
def keywords() -> list[str]: ...
def model_names() -> list[str]: ...
