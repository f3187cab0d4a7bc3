#include "planner/uniform_pages.h"

#include "base/checked.h"
#include "planner/extras.h"
#include "planner/grouping.h"
#include "planner/id_count.h"

namespace hybridkv {

namespace {

/// Bytes of a block id: its page in every pool, and what lies beside them.
std::int64_t block_bytes_of(std::int64_t num_pools, std::int64_t page_bytes, std::int64_t extra_bytes) {
  return Checked(num_pools) * page_bytes + extra_bytes;
}

/// The ids that memory, or the user, gives the only arena.
std::int64_t count_blocks(std::int64_t page_bytes, std::int64_t num_pools, std::int64_t extra_bytes,
                          const EngineSpec& engine, const DerivationLog& log) {
  std::int64_t num_blocks = 0;
  if (engine.num_blocks) {
    num_blocks = *engine.num_blocks;
    const std::int64_t block_bytes = block_bytes_of(num_pools, page_bytes, extra_bytes);
    require_addressable(num_blocks, block_bytes, "blocks");
    log.add([&] {
      return Decision{{"num_blocks", num_blocks, "blocks"}, "as set by the user", {}, "engine.num_blocks"};
    });
    log.add([&] {
      return Decision{{"memory", num_blocks * block_bytes, "bytes"},
                      "memory = num_blocks * bytes of a block id",
                      {{"num_blocks", num_blocks, "blocks"}, {"bytes of a block id", block_bytes, "bytes"}},
                      "engine.num_blocks"};
    });
  } else {
    num_blocks = blocks_in_memory(engine.memory_bytes, page_bytes, num_pools, extra_bytes);
    log.add([&] {
      std::vector<Term> terms{
          {"memory", engine.memory_bytes, "bytes"}, {"P", page_bytes, "bytes"}, {"g", num_pools, "pools"}};
      if (extra_bytes > 0) terms.push_back({"extra bytes per block", extra_bytes, "bytes"});
      return Decision{{"num_blocks", num_blocks, "blocks"},
                      extra_bytes > 0 ? "num_blocks = floor(memory / (g * P + extra bytes per block))"
                                      : "num_blocks = floor(floor(memory / P) / g)",
                      std::move(terms),
                      log.cite(RuleOf::groups)};
    });
  }
  derive_usable_blocks(num_blocks, RuleOf::groups, log);
  return num_blocks;
}

}  // namespace

std::int64_t blocks_in_memory(std::int64_t memory_bytes, std::int64_t page_bytes, std::int64_t num_pools,
                              std::int64_t extra_bytes_per_block) {
  if (extra_bytes_per_block == 0) return memory_bytes / page_bytes / num_pools;
  return memory_bytes / block_bytes_of(num_pools, page_bytes, extra_bytes_per_block);
}

void set_only_arena(Arrangement& arrangement, std::int64_t page_bytes, std::int64_t num_blocks) {
  const auto num_pools = static_cast<std::int64_t>(arrangement.pools.size());
  arrangement.arenas.push_back(
      {"blocks", num_blocks, block_bytes_of(num_pools, page_bytes, arrangement.extra_bytes_per_id())});
  arrangement.lanes.reserve(arrangement.pools.size());
  for (std::int64_t pool = 0; pool < num_pools; ++pool)
    arrangement.lanes.push_back({{0}, {pool}, 0, page_bytes, page_bytes});
}

void share_pools(Arrangement& arrangement, SizedPages sized, const ModelSpec& model, const EngineSpec& engine,
                 const DerivationLog& log) {
  const std::int64_t page = sized.page_bytes;
  arrangement.specs = std::move(sized.specs);
  const SupposedGroups supposed(engine.what_if, arrangement.specs);
  const std::int64_t num_pools = pages_per_group(arrangement.specs, engine.layers_per_group, supposed, log);
  arrangement.groups = make_groups(arrangement.specs, num_pools, page, supposed, log);
  arrangement.extras = make_extras(arrangement.specs, model, log);
  const std::int64_t num_blocks = count_blocks(page, num_pools, arrangement.extra_bytes_per_id(), engine, log);
  arrangement.pools = make_pools(arrangement.groups, num_pools, num_blocks, page);
  set_only_arena(arrangement, page, num_blocks);
}

}  // namespace hybridkv
