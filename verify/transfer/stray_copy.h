#pragma once

#include <optional>

#include "verify/transfer/traffic.h"

namespace hybridkv {

/// One block of one layer copied to a block id where it does not belong, as a stale or freed id makes an engine do.
struct StrayCopy {
  const BoundView* view = nullptr;
  std::int64_t from = 0;  ///< block ids of the view's pool
  std::int64_t to = 0;
};

/// Where Fault::kv_over_state, state_over_kv or freed_block would copy; nothing where no pool is shared by attention
/// and states, or for any other fault.
std::optional<StrayCopy> find_stray_copy(Fault fault, const CachePlan& plan, std::span<const BoundView> views,
                                         const BlockAssignment& assignment);

/// Makes that copy where the traffic has this very fault; else nothing.
void plant_stray_copy(const Traffic& traffic, Fault fault);

}  // namespace hybridkv
