#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/attention_spec.h"
#include "attention/cache_order.h"
#include "base/dtype.h"
#include "mamba/recurrent_spec.h"
#include "planner/model_parameters.h"

namespace hybridkv {

/// A layer of attention that computes queries alone and reads the K and V of another one. It caches nothing but what
/// an indexer of its own keeps.
struct SharedKv {
  std::int64_t source = 0;             ///< the layer that is read, an earlier one
  std::int64_t query_heads = 0;        ///< >= 1, a multiple of the KV heads of the source
  std::optional<IndexerSpec> indexer;  ///< where the source sees every token
  bool operator==(const SharedKv&) const = default;
};

/// One layer of a model: what it caches. None = a layer without a cache (MLP, MoE); several = attention first.
struct LayerSpec {
  std::optional<AttentionSpec> attention;
  std::optional<RecurrentSpec> recurrent;
  std::optional<SharedKv> shared;  ///< in place of attention
  std::optional<AttentionSpec> cross;  ///< to the encoder, of kind cross, beside attention or alone
  bool operator==(const LayerSpec&) const = default;
};

/// A model as far as its caches go: every layer in order, with its kind.
struct ModelSpec {
  std::string name;                    ///< as published, "Qwen3.5-397B-A17B"
  std::string source;                  ///< where the numbers come from
  bool layer_order_verified = true;    ///< false: only the counts of layers are known
  DType dtype = DType::bf16;           ///< model dtype; KV and conv state follow it unless set
  std::optional<DType> ssm_dtype;      ///< recurrent state, where the model fixes it
  std::optional<DType> ssm_cache_dtype;///< the same for engines that read only this name of the key in its config
  std::optional<DType> kv_dtype;       ///< K and V as its checkpoint says, for engines that follow it unless set
  std::vector<LayerSpec> layers;       ///< positions are the layer numbers of a plan
  std::optional<AttentionSpec> mtp;    ///< attention of one multi-token-prediction layer; default: the first full one
  /// Recurrent layers outside the pattern, each a group of its own that takes no part in sizing the groups.
  std::vector<RecurrentSpec> auxiliary;
  std::optional<std::int64_t> encoder_tokens;  ///< most tokens of an encoder's input; nothing: not known
  bool kda_exports_states = false;     ///< its kda layers can run the flash kernel, which exports states inside a chunk
  std::int64_t extra_blocks_per_request = 0;  ///< block ids of a request beside its tokens and states: a ring, a tail
  std::int64_t ring_tokens = 0;  ///< that such a ring holds, without drafts; 0: its size is not known
  std::int64_t ring_bytes_per_token = 0;  ///< of each layer with full attention
  /// Orders of one allocation that its attention reads, the first preferred; empty: those of the backend.
  std::vector<CacheOrder> cache_orders;
  std::optional<ModelParameters> parameters;  ///< nothing: not known
  bool operator==(const ModelSpec&) const = default;
};

}  // namespace hybridkv
