#include "verify/transfer/continued_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

namespace hybridkv {

ContinuedLayers continued_layers(std::span<const TransferRank> ranks, std::int64_t most) {
  std::map<std::string, std::map<std::pair<bool, std::int64_t>, std::set<ModelTensor>>> kinds;
  std::set<std::string> attends;
  for (const TransferRank& rank : ranks) {
    for (const RankTokens& tokens : rank.tokens) {
      if (!can_decode(tokens)) continue;
      kinds[tokens.spec->kind][{tokens.name.draft, tokens.name.layer}].insert(tokens.name);
      attends.insert(tokens.spec->kind);
    }
    for (const RankState& state : rank.states)
      if (state.name.kind == CachedKind::state)
        kinds[state.spec->kind][{state.name.draft, state.name.layer}].insert(state.name);
  }
  ContinuedLayers all;
  for (const auto& [kind, layers] : kinds) {
    std::int64_t count = 0;
    for (const auto& [layer, names] : layers) {
      if (most > 0 && count == most) break;
      all.names.insert(names.begin(), names.end());
      ++count;
    }
    (attends.contains(kind) ? all.attention : all.states)[kind] = count;
  }
  return all;
}

std::string continued_text(const ContinuedLayers& layers, std::int64_t tokens) {
  std::vector<std::string> parts;
  const auto add = [&](const std::map<std::string, std::int64_t>& kinds, std::int64_t count) {
    for (const auto& [kind, number] : kinds)
      parts.push_back(fmt::format("{} new token{} in {} {} layer{}", count, count == 1 ? "" : "s", number, kind,
                                  number == 1 ? "" : "s"));
  };
  add(layers.states, tokens);
  add(layers.attention, 1);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hybridkv
