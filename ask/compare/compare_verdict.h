#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ask/compare/compare.h"

namespace hybridkv {

/// What a setting comes to, as a verdict weighs it.
struct WeighedSetting {
  std::size_t setting = 0;           ///< its number
  double concurrency = 0;            ///< requests of the longest length at once, the null block not counted
  std::optional<double> prefilled;   ///< prompt tokens computed; nothing where no trace was replayed
  std::optional<double> hit_percent; ///< of the prompt tokens
  bool harms_kernel = false;         ///< one that was asked about would refuse its layout or corrupt it
};

/// Which setting uses the cache best, against the best of the others; what it costs elsewhere, as drafts that are given
/// up, it knows nothing of.
struct CompareVerdict {
  WeighedSetting taken;
  std::vector<std::size_t> same;  ///< numbers of the others that find as much and hold as many
  WeighedSetting next;            ///< the best of those that do not
  bool by_requests = false;  ///< they find the same, or nothing was replayed: it is the one that holds more requests
};

/// Of the settings that start, and of those that harm no kernel where there are any, the one under which fewest prompt
/// tokens are computed again; of those that find the same (same_hits.h), or where nothing was replayed, the one that
/// holds most requests at once, and of equal ones the first. Nothing where they are of different models, lengths or
/// releases, fewer than two start, or all come to the same.
std::optional<CompareVerdict> compare_verdict(const CompareAnswer& comparison);

}  // namespace hybridkv
