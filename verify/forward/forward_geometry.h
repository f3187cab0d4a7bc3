#pragma once

#include <cstdint>
#include <functional>

#include "planner/cache_plan.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// The cache of a plan as the cases of a forward pass drive it: groups, blocks and mode of the plan, windows and chunks
/// of its layers, the rules of its release, and a token budget that is no multiple of the block, so that chunks end
/// inside blocks. The cases count in block_size_tokens, at whose multiples the blocks of all groups end.
/// Throws SpecError as prefix_rules_of.
CacheGeometry forward_geometry(const CachePlan& plan);

/// Groups whose ids are those of one arena.
struct GroupCount {
  std::int64_t attention = 0;
  std::int64_t states = 0;  ///< tables: a state in several pages has one a page
};
GroupCount groups_of_arena(const CacheGeometry& geometry, std::int64_t arena);

/// Ids of an arena that one request of so many tokens takes at most, whatever the mode.
std::int64_t most_block_ids(const CacheGeometry& geometry, std::int64_t arena, std::int64_t tokens);

/// Ids of an arena that can be handed out: all but the null id, in large pages all but those of the null page.
std::int64_t usable_ids(const CacheGeometry& geometry, std::int64_t arena);

/// Gives every arena the null id and as many as `ids_of(arena)`; large pages that arenas share as many as fill those.
void size_arenas(CacheGeometry& geometry, const std::function<std::int64_t(std::int64_t arena)>& ids_of);

/// The token that is computed next when the last group with a window or chunk gives back its first block; 0 where no
/// group has one.
std::int64_t first_give_back(const CacheGeometry& geometry);

/// Ids with which every arena has room for every case, null id included.
std::int64_t forward_pool_blocks(const CachePlan& plan);

}  // namespace hybridkv
