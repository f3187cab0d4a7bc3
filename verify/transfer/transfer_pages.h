#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "verify/check_result.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

/// Bytes [first, end) of a pool.
struct ByteRange {
  std::int64_t first = 0, end = 0;
  std::int64_t bytes() const { return end - first; }
  bool operator==(const ByteRange&) const = default;
};

/// Sorts ranges and joins those that meet.
std::vector<ByteRange> joined_ranges(std::vector<ByteRange> ranges);

/// The memory of a rank's pools that one request makes resident: that of all ids it holds, of the null ids, and of some
/// that nobody holds; whole memory pages.
struct HeldPages {
  std::vector<std::vector<ByteRange>> pools;        ///< (pool) ascending, apart
  std::vector<std::vector<std::int64_t>> free_ids;  ///< (arena) that nobody holds, beside held ones as far as can be
  std::int64_t bytes() const;
};

/// `tables`: of the stage, [group][position]; `num_free`: by arena, how many ids that nobody holds are wanted; there
/// may be fewer.
HeldPages transfer_pages(const CachePlan& plan, const std::vector<std::vector<std::int64_t>>& tables,
                             const std::vector<std::int64_t>& num_free);

/// Which canaries stand in a pool: those of a source differ from those of a destination in the same place.
enum class CanarySide { from, to };

/// Fills bytes of a pool with canaries.
void fill_canary(const PoolSet& pools, CanarySide side, std::int64_t pool, std::int64_t first, std::int64_t bytes);

/// Fills all of the pages with canaries, which makes them resident.
void fill_canaries(const PoolSet& pools, const HeldPages& pages, CanarySide side);

/// Does every byte of the pages hold its canary, and is nothing else of the pools resident? `who` begins messages.
/// `count` = bytes.
CheckResult check_canaries(const CachePlan& plan, const PoolSet& pools, const HeldPages& pages, CanarySide side,
                           const std::string& who);

}  // namespace hybridkv
