#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hybridkv {

/// Ids that take a place in each of several pools.
struct GroupOfPools {
  std::vector<std::int64_t> id_bytes;    ///< of each pool, >= 1
  double weight = 1;                     ///< its share of the memory is in proportion to it, > 0
  std::int64_t least_ids = 1;            ///< however small its share
};

/// Bytes in whose multiples pools are allocated: 2 MiB << k, k = min(4, max(0, int(log2(memory / (512 * 2 MiB))))).
/// Source: TensorRT-LLM kv_cache_manager_v2 cache_tier_granularity, run.
/// Example: 40 GiB: log2(40) = 5.3, k = 4: 32 MiB.
std::int64_t grain_of(std::int64_t memory_bytes);

/// Whole grains that so many ids take, every pool rounded up.
std::int64_t grains_of(std::int64_t ids, std::span<const std::int64_t> id_bytes, std::int64_t grain_bytes);

/// The most ids that so many grains hold; 0 where not even one.
std::int64_t ids_in(std::int64_t grains, std::span<const std::int64_t> id_bytes, std::int64_t grain_bytes);

/// Grains that the weight of one group gives it, however few its ids then are.
std::int64_t grains_of_share(std::int64_t grains, std::span<const GroupOfPools> groups, std::size_t group);

/// Slots of every group: memory is filled in by weight, the lightest group first and the last one with what is left; a
/// group that gets no more than its least is given the grains of that, and the rest filled in anew among the others.
/// Pre: grains hold the least ids of all groups.
/// Source: TensorRT-LLM kv_cache_manager_v2 ratio_to_slot_count_list, run.
std::vector<std::int64_t> fill_groups(std::int64_t grains, std::span<const GroupOfPools> groups,
                                      std::int64_t grain_bytes);

}  // namespace hybridkv
