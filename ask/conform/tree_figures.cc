#include "ask/conform/tree_figures.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// The tensors of a state of one rank.
Json tensors_of_state(const SpecPlan& spec) {
  Json tensors = Json::array();
  for (const StateTensor& tensor : spec.state->tensors) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : tensor.layout.axes()) shape.push_back(axis.extent);
    tensors.push_back({{"shape", shape}, {"dtype", to_string(tensor.dtype)}});
  }
  return tensors;
}

constexpr std::array tree_rules{DerivedFigure{"state_slot_bytes", "bytes of a slot"},
                                DerivedFigure{"token_bytes", "bytes of a token"},
                                DerivedFigure{"state_slots_per_request", "S"},
                                DerivedFigure{"state_slots", "K"},
                                DerivedFigure{"token_slots", "token slots"},
                                DerivedFigure{"max_running", "running requests of the engine"},
                                DerivedFigure{"checkpoint_tokens", "G"},
                                DerivedFigure{"decode_tokens", "G"},
                                DerivedFigure{"token_part_bytes", "part of tokens in the elastic buffer"}};

}  // namespace

Json tree_figures(const CachePlan& plan) {
  const TreePools& pools = *plan.tree_pools;
  std::int64_t attention = 0, states = 0;
  Json tensors = Json::array();
  for (const SpecPlan& spec : plan.specs) {
    if (spec.state) {
      states += std::ssize(spec.layers);
      for (Json& tensor : tensors_of_state(spec)) tensors.push_back(std::move(tensor));
      continue;
    }
    attention += std::ssize(spec.layers);  // those of a drafter too
  }
  Json record{{"attention_layers", attention},
              {"state_layers", states},
              {"states", std::move(tensors)},
              {"state_slot_bytes", pools.state_slot_bytes},
              {"token_bytes", pools.token_bytes},
              {"state_slots_per_request", pools.split.state_slots_per_request},
              {"state_slots", pools.split.state_slots},
              {"token_slots", pools.split.token_slots},
              {"max_running", pools.split.max_running}};
  if (plan.cache_mode != CacheMode::none && pools.strategy != TreeStrategy::no_buffer) {
    record["checkpoint_tokens"] = pools.checkpoint_tokens;
    record["decode_tokens"] = pools.decode_tokens;
  }
  if (pools.unified) record["token_part_bytes"] = pools.unified->token_part_bytes;
  return record;
}

std::span<const DerivedFigure> derived_tree_figures() { return tree_rules; }

}  // namespace hybridkv
