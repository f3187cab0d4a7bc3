#include "simulator/pool/held_blocks.h"

namespace hybridkv {

HeldBlocks::HeldBlocks(const CacheGeometry& geometry, std::span<BlockArena> pools) : pools_(pools) {
  if (geometry.extra_blocks_per_request > 0) groups_.push_back({.tables = geometry.extra_blocks_per_request});
  groups_.insert(groups_.end(), geometry.held_groups.begin(), geometry.held_groups.end());
}

std::int64_t HeldBlocks::lacking(const RequestBlocks& request, std::size_t group, std::int64_t tokens) const {
  const std::int64_t held = group < request.held.size() ? std::ssize(request.held[group]) : 0;
  return groups_[group].blocks(tokens) - held;
}

bool HeldBlocks::add_demand(const RequestBlocks& request, std::int64_t tokens, std::span<std::int64_t> demand) const {
  bool any = false;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::int64_t blocks = lacking(request, group, tokens);
    if (blocks <= 0) continue;
    demand[static_cast<std::size_t>(groups_[group].arena)] += blocks;
    any = true;
  }
  return any;
}

void HeldBlocks::grow(RequestBlocks& request, std::int64_t tokens) {
  request.held.resize(groups_.size());
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (std::int64_t blocks = lacking(request, group, tokens); blocks > 0; --blocks)
      request.held[group].push_back(pool(group).take(BlockKind::extra));
}

void HeldBlocks::release(const RequestBlocks& request) {
  for (std::size_t group = 0; group < request.held.size(); ++group)
    for (auto block = request.held[group].rbegin(); block != request.held[group].rend(); ++block)
      pool(group).release(*block);
}

}  // namespace hybridkv
