#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mamba/state_view.h"
#include "planner/cache_plan.h"
#include "simulator/pool/block_id.h"
#include "verify/layout/bound_view.h"
#include "verify/layout/pool_set.h"

namespace hybridkv {

/// The views of the state of one layer by tensor, each by the pieces of an entry.
struct StateViews {
  std::vector<const BoundView*> conv;
  std::vector<const BoundView*> ssm;

  bool empty() const { return conv.empty() && ssm.empty(); }
  /// Some view of the state. Pre: not empty.
  const BoundView& any() const { return ssm.empty() ? *conv.front() : *ssm.front(); }
  /// Behind all others in memory. Pre: not empty.
  const BoundView& last() const { return ssm.empty() ? *conv.back() : *ssm.back(); }
};

/// Ids of one table entry, by piece: those of each tensor, which may lie in a table of its own.
struct StateIds {
  std::vector<BlockId> conv;
  std::vector<BlockId> ssm;
  bool operator==(const StateIds&) const = default;
  /// Both of one slot.
  static StateIds of_slot(BlockId slot) { return {{slot}, {slot}}; }
};

/// What a state is held for.
enum class StateUse {
  read,
  write,  ///< and read
};

/// The state of one layer in one table entry, ready for a recurrence: its own tensors where it lies in one page; where
/// it lies in several, a dense copy. One that is held to be written goes back to the pages when it dies; one that is
/// read does not, as its pages may be written by another in the meantime.
class HeldState {
 public:
  /// `ids`: of the entry. All of it is borrowed.
  HeldState(const PoolSet& pools, const StateSpec& state, const StateViews& views, const StateIds& ids, StateUse use);
  HeldState(HeldState&& other) noexcept;
  HeldState& operator=(HeldState&&) = delete;
  ~HeldState();

  const StateView& view() const { return view_; }

 private:
  /// One stretch of the copy and where it belongs.
  struct Part {
    std::byte* in_pool;
    std::size_t at;
    std::size_t bytes;
  };

  TensorView bind(const PoolSet& pools, const StateTensor& tensor, const std::vector<const BoundView*>& pieces,
                  std::span<const BlockId> ids, std::size_t& used);

  StateUse use_;
  StateView view_;
  std::vector<std::byte> copy_;  // empty where the state lies in one page
  std::vector<Part> parts_;
};

}  // namespace hybridkv
