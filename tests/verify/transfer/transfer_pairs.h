#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "tests/planner/models.h"
#include "verify/transfer/transfer_proof.h"

/// Pairs of deployments between which a request is moved.
namespace hybridkv::testing {

using EngineChange = std::function<void(EngineSpec&)>;

/// A deployment of a model on so many ranks.
inline EngineSpec transfer_engine(std::int64_t ranks, std::int64_t memory_bytes, const EngineChange& change = {}) {
  EngineSpec engine;
  engine.tensor_parallel = ranks;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = memory_bytes;
  if (change) change(engine);
  return engine;
}

/// The same with pools that are filled in no time.
inline EngineSpec small_engine(std::int64_t ranks, const EngineChange& change = {}) {
  return transfer_engine(ranks, 64 * mib, change);
}

/// Six layers with attention and six of another kind, in turn.
inline ModelSpec small_hybrid(const RecurrentSpec& recurrent,
                              const AttentionSpec& attention = full_attention(2, 16, 8)) {
  ModelSpec model = hybrid_model("small", 12, attention, recurrent, [](std::int64_t i) { return i % 2 == 1; });
  model.ssm_dtype = DType::fp32;
  return model;
}

inline constexpr GdnSpec small_gdn{.key_heads = 4, .value_heads = 8, .key_head_dim = 16, .value_head_dim = 8,
                                   .conv_kernel = 4};
/// The same for up to eight ranks.
inline constexpr GdnSpec small_gdn_of_8{.key_heads = 8, .value_heads = 8, .key_head_dim = 8, .value_head_dim = 8,
                                        .conv_kernel = 4};
inline constexpr Mamba2Spec small_mamba2{.heads = 8, .head_dim = 8, .state_size = 16, .groups = 2, .chunk_size = 16};

/// A model, both engines, and a request between them.
struct TransferPair {
  ModelSpec model;
  EngineSpec from, to;
  std::int64_t tokens = 0;
  std::int64_t present_tokens = 0;
  TransferOptions options;

  TransferMap map() const {
    const LimitsSpec limits{.max_model_lens = {tokens}};
    return TransferMap(make_side(model, from, limits), make_side(model, to, limits), options);
  }
};

inline TransferRequest request_between(const TransferMap& map, const TransferPair& pair) {
  return {.tokens = pair.tokens,
          .present_tokens = pair.present_tokens,
          .from = make_tables(map.from(), pair.tokens, IdOrder::scattered, 1),
          .to = make_tables(map.to(), pair.tokens, IdOrder::scattered, 2)};
}

inline TransferProof prove(const TransferPair& pair, const TransferProofSpec& spec = {}) {
  const TransferMap map = pair.map();
  return prove_transfer(map, request_between(map, pair), spec);
}

/// The check of that name; the test stops where the proof has none.
inline const CheckResult& check_named(const TransferProof& proof, std::string_view name) {
  const auto found = std::find_if(proof.checks.begin(), proof.checks.end(),
                                  [&](const CheckResult& check) { return check.name == name; });
  REQUIRE(found != proof.checks.end());
  return *found;
}

/// Every check passed, or had nothing to look at.
inline void require_proven(const TransferPair& pair, const TransferProofSpec& spec = {}) {
  const TransferProof proof = prove(pair, spec);
  for (const CheckResult& check : proof.checks) {
    CAPTURE(check.name);
    CAPTURE(check.message);
    CHECK((check.status == CheckStatus::passed || check.status == CheckStatus::declined));
  }
  CHECK(proof.passed());
}

}  // namespace hybridkv::testing
