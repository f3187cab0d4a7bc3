#include "planner/extras.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/sum_rule.h"

namespace hybridkv {

std::vector<ExtraPlan> make_extras(std::span<const SpecPlan> specs, const ModelSpec& model, const DerivationLog& log) {
  std::vector<ExtraPlan> extras;
  const auto is_there = [&](auto is) { return std::any_of(specs.begin(), specs.end(), is); };
  const bool has_indexers = is_there([](const SpecPlan& spec) { return spec.is_indexer(); });
  const bool has_rings = is_there([](const SpecPlan& spec) { return spec.ring_tokens > 0; });
  const bool has_attention = is_there([](const SpecPlan& spec) { return spec.role() == SpecRole::attention; });
  if (model.indexer_bytes_per_token > 0 && has_attention && !has_indexers) {
    Checked bytes = 0;
    SumRule sum;
    for (const SpecPlan& spec : specs) {
      if (spec.role() != SpecRole::attention) continue;
      const Term layers{fmt::format("layers {}", spec.id), static_cast<std::int64_t>(spec.layers.size()), ""};
      const Term block{fmt::format("block {}", spec.id), spec.block_size_tokens, "tokens"};
      bytes += Checked(std::get<std::int64_t>(layers.value)) * model.indexer_bytes_per_token * spec.block_size_tokens;
      sum.add(fmt::format("indexer * {} * {}", layers.symbol, block.symbol),
              {{"indexer", model.indexer_bytes_per_token, "bytes"}, layers, block});
    }
    extras.push_back({fmt::format("indexer, {} bytes a token and layer", model.indexer_bytes_per_token), bytes, 0});
    log.add([&] {
      return Decision{{"bytes beside each block: " + extras.back().what, bytes, "bytes"}, "bytes = " + sum.text(),
                      sum.inputs(), "model.indexer_bytes_per_token"};
    });
  }
  if (model.extra_blocks_per_request > 0 && !has_rings)
    extras.push_back({"blocks of each request beside its tokens and states", 0, model.extra_blocks_per_request});
  return extras;
}

}  // namespace hybridkv
