#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "planner/arrangement.h"
#include "planner/demand.h"
#include "planner/derivation.h"
#include "planner/kernel_verdict.h"

namespace hybridkv {

/// What fits at one maximal length.
struct CapacityPlan {
  std::int64_t max_model_len = 0;            ///< tokens
  std::int64_t blocks_per_request = 0;       ///< block ids of one request of that length, all groups
  std::int64_t bytes_per_request = 0;        ///< blocks_per_request * (pools * P + extras)
  std::int64_t ideal_bytes_per_request = 0;  ///< a1 * layers * L + M * layers: no paging, one state
  bool fits = false;                         ///< num_blocks >= blocks_per_request, as engines check
  double max_concurrency = 0;                ///< num_blocks / blocks_per_request, as engines print it
  double usable_concurrency = 0;             ///< the same without the null block
  IdsByCause ids_by_cause;                   ///< what the block ids of one request are for
  std::int64_t kv_cache_tokens = 0;          ///< by the engine's token_rule
  std::int64_t kv_cache_tokens_by_concurrency = 0;
  std::int64_t kv_cache_tokens_by_floor = 0;
  bool operator==(const CapacityPlan&) const = default;
};

/// How finely a prefix can be found again.
struct PrefixPlan {
  bool cacheable = false;                ///< false in mode none with recurrent layers: nothing ever hits
  std::int64_t match_unit_tokens = 0;    ///< hits are multiples of this: lcm of the groups' blocks,
                                         ///< in mode none of attention's alone; 0 without any
  std::optional<std::int64_t> min_cacheable_prefix_tokens;  ///< shortest shared prefix that can ever hit
  std::int64_t duplicate_misses_up_to_tokens = 0;  ///< a second copy of a prompt this long or shorter hits nothing
  std::optional<std::int64_t> duplicate_misses_multiples_of_tokens;  ///< and one whose length is a multiple of this
  std::int64_t scheduler_block_tokens = 0;  ///< S, lcm of the groups' blocks; 0 in releases without chain hashes of h
  std::int64_t hash_block_tokens = 0;       ///< h, tokens of a chain hash
  std::string match_error;  ///< why the engine takes no such match unit though its planning passes; empty: it does
  bool operator==(const PrefixPlan&) const = default;
};

/// Bytes lost in each block id of one group, whatever it holds.
struct BlockWaste {
  std::int64_t group = 0;
  std::int64_t state_padding_bytes = 0;      ///< page padding of recurrent layers and gaps inside a state
  std::int64_t attention_padding_bytes = 0;  ///< page padding of attention layers
  std::int64_t short_pack_bytes = 0;         ///< room of the layers that the last pack lacks
  std::int64_t empty_position_bytes = 0;     ///< whole pages of pool positions that the group leaves empty
  std::int64_t total() const {
    return state_padding_bytes + attention_padding_bytes + short_pack_bytes + empty_position_bytes;
  }
  bool operator==(const BlockWaste&) const = default;
};

/// Where every byte of the pools goes under a stated load.
/// Invariant: pool_bytes is the sum of all other byte fields, used + wasted + null block + free.
struct LoadWaste {
  std::vector<std::int64_t> sequence_tokens;  ///< running requests
  std::int64_t pool_bytes = 0;                ///< all pools
  std::int64_t token_bytes = 0;               ///< K and V of live tokens
  std::int64_t state_bytes = 0;               ///< the running state of every recurrent layer
  std::int64_t extra_state_bytes = 0;         ///< checkpoints and speculative states beside the running one
  std::int64_t state_padding_bytes = 0;
  std::int64_t attention_padding_bytes = 0;
  std::int64_t short_pack_bytes = 0;
  std::int64_t empty_position_bytes = 0;
  std::int64_t block_tail_bytes = 0;          ///< token slots of attention blocks that hold no live token
  std::int64_t unused_entry_bytes = 0;        ///< small pages of the large ones of a request that it has no use for
  std::int64_t null_block_bytes = 0;          ///< block 0
  std::int64_t free_bytes = 0;                ///< blocks no request holds
  std::int64_t used_bytes() const { return token_bytes + state_bytes + extra_state_bytes; }
  /// What the running requests waste; the null block is there without any.
  std::int64_t wasted_bytes() const {
    return state_padding_bytes + attention_padding_bytes + short_pack_bytes + empty_position_bytes + block_tail_bytes +
           unused_entry_bytes;
  }
  bool operator==(const LoadWaste&) const = default;
};

struct WastePlan {
  std::vector<BlockWaste> per_block;  ///< one per group
  LoadWaste at_load;
  std::int64_t unallocated_bytes = 0; ///< memory that is no whole block for every pool
  bool operator==(const WastePlan&) const = default;
};

/// One tensor of one layer inside its pool.
struct ViewPlan {
  std::int64_t spec = 0;
  std::int64_t layer = 0;
  std::string tensor;     ///< "kv", "conv", "ssm"
  std::int64_t pool = 0;
  DType dtype = DType::fp32;
  Layout bytes;           ///< (axes of the tensor) byte of the pool at which an element starts: strides are bytes
  LaneId lane;            ///< whose pieces it lies in
  std::int64_t piece = 0; ///< which of the ids of a table entry its block axis counts
  std::int64_t first_element = 0;  ///< of a tensor that lies in several pieces: its element at which this one begins

  /// The same in elements of `dtype` from the first byte of the pool, as frameworks count. Pre: a whole number of them
  /// everywhere, as make_views sees to and verify checks.
  Layout elements() const;
  bool operator==(const ViewPlan&) const = default;
};

/// A layer that caches no K and V and reads those of another one.
struct SharedLayer {
  std::int64_t layer = 0;
  std::int64_t source = 0;
  bool operator==(const SharedLayer&) const = default;
};

/// Bytes of the attention biases of a stated batch. Source: vllm-gaudi PR 784.
struct WorkspacePlan {
  WorkspaceSpec batch;
  std::int64_t full_bias_bytes = 0;     ///< (query, shared blocks, block)
  std::int64_t chunked_bias_bytes = 0;  ///< (query, chunk, block)
  std::int64_t block_usage_bytes = 0;   ///< (query, shared blocks rounded up to the chunk) int32, chunked mode
  bool operator==(const WorkspacePlan&) const = default;
};

/// Something that is legal but that the user would want to know.
struct Warning {
  std::string code;     ///< stable: "block_exceeds_prompts", "pool_at_bound", "dominated_pack", …
  std::string message;  ///< one sentence with the numbers and the reason
  bool operator==(const Warning&) const = default;
};

/// The whole layout of one model under one engine setting and one pack size: an arrangement, and what follows from it.
/// Immutable once made.
struct CachePlan : Arrangement {
  std::vector<SharedLayer> shared_kv;    ///< ascending
  std::vector<CapacityPlan> capacity;    ///< one per limits.max_model_lens
  std::int64_t max_fitting_tokens = 0;   ///< longest request that the usable ids can hold; at most largest_tokens
  std::int64_t max_running_requests = 0; ///< requests of one token that the usable ids can hold
  std::int64_t max_running_requests_by_states = 0;  ///< the same counting recurrent blocks alone; 0 without any
  std::int64_t one_token_request_bytes = 0;
  PrefixPlan prefix;
  WastePlan waste;
  std::vector<ViewPlan> views;
  std::string view_error;                ///< why the engine makes no views though its planning passes; empty: it does
  std::optional<WorkspacePlan> workspace;
  Derivation derivation;
  std::vector<Warning> warnings;
  std::vector<KernelFit> kernels;        ///< what it does to kernels whose cards were given, in the order of these
  bool operator==(const CachePlan&) const = default;

  /// What the pools, the extras and the unallocated rest take together; of tree pools with what lies beside them, and
  /// without what their split does not count.
  std::int64_t memory_bytes() const {
    return Checked(allocated_bytes()) + beside_budget_bytes() + waste.unallocated_bytes;
  }
};

/// Plans of one model and parallel split for several pack sizes.
struct PlanSet {
  std::string model;
  std::int64_t tensor_parallel = 1;
  std::string strategy;  ///< "uniform_page" where only N = 1 was asked, else "packed_attention"
  std::vector<CachePlan> plans;
  bool operator==(const PlanSet&) const = default;
};

}  // namespace hybridkv
