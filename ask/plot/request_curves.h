#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Bytes of one request against its length, for several plans of one model.
struct RequestBytes {
  std::vector<std::int64_t> lengths;      ///< tokens, ascending: where the stairs of some plan rise, first and last
  std::vector<std::int64_t> ideal_bytes;  ///< (length) without paging
  /// (plan, length); unset between the corners of that plan's own stairs. The last length is a corner of all.
  std::vector<std::vector<std::optional<std::int64_t>>> bytes;
};

/// Up to the longest length asked about; every corner of the stairs is a point, up to a few hundred a plan.
/// Pre: at least one plan, a capacity in each, the same lengths in all.
RequestBytes request_bytes(const PlanSet& set);

/// Requests that run at once, null block not counted, at several lengths.
struct ConcurrencyCurves {
  std::vector<std::int64_t> lengths;          ///< tokens, ascending
  std::vector<std::vector<double>> requests;  ///< (plan, length)
};

/// At the lengths asked about, or where that is one length L, at L, L/4, L/16 and L/64. Pre: as request_bytes.
ConcurrencyCurves concurrency_curves(const PlanSet& set);

}  // namespace hybridkv
