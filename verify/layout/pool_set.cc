#include "verify/layout/pool_set.h"

namespace hybridkv {

PoolSet::PoolSet(const CachePlan& plan) : lanes_(plan.lanes) {
  pools_.reserve(plan.pools.size());
  for (const PoolPlan& pool : plan.pools) pools_.emplace_back(pool.bytes);
}

std::span<std::byte> PoolSet::piece(LaneId lane, std::int64_t id) const {
  const LanePlan& of = lanes_[lane.index()];
  return pools_[of.pool.index()].bytes().subspan(of.begin(id), of.bytes);
}

std::span<std::byte> PoolSet::place(const GroupPlan& group, LaneId lane, std::int64_t entry) const {
  const std::span<std::byte> whole = piece(lane, entry / group.entries_per_id);
  const std::size_t bytes = whole.size() / static_cast<std::size_t>(group.entries_per_id);
  return whole.subspan(static_cast<std::size_t>(entry % group.entries_per_id) * bytes, bytes);
}

TensorView PoolSet::tensor(const BoundView& view, const Layout& bytes) const {
  const std::int64_t element = view.element_bytes();
  TensorView tensor = make_view(pool(view.view.pool), view.view.dtype, in_elements(bytes, element));
  tensor.base += bytes.offset() % element;  // 0 but for a planted fault
  return tensor;
}

std::int64_t PoolSet::reserved_bytes() const {
  std::int64_t bytes = 0;
  for (const Pool& pool : pools_) bytes += pool.size_bytes();
  return bytes;
}

std::int64_t PoolSet::resident_bytes() const { return hybridkv::resident_bytes(pools_); }

}  // namespace hybridkv
