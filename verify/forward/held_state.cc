#include "verify/forward/held_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "layout/slice.h"

namespace hybridkv {

namespace {

/// Room for the tensors one after the other, each on a multiple of the widest element.
std::size_t copy_bytes(const StateSpec& state) {
  std::size_t bytes = 0;
  for (const StateTensor& tensor : state.tensors) bytes += static_cast<std::size_t>(round_up(tensor.bytes(), 8));
  return bytes;
}

}  // namespace

HeldState::HeldState(const PoolSet& pools, const StateSpec& state, const StateViews& views, const StateIds& ids,
                     StateUse use)
    : use_(use) {
  if (std::max(ids.conv.size(), ids.ssm.size()) > 1) copy_.resize(copy_bytes(state));
  std::size_t used = 0;
  const auto bind_all = [&](const std::vector<const BoundView*>& pieces, const std::vector<BlockId>& of) {
    return bind(pools, tensor_of(state, pieces.front()->view), pieces, of, used);
  };
  if (!views.conv.empty()) view_.conv = bind_all(views.conv, ids.conv);
  if (!views.ssm.empty()) view_.ssm = bind_all(views.ssm, ids.ssm);
}

HeldState::HeldState(HeldState&& other) noexcept
    : use_(other.use_), view_(other.view_), copy_(std::move(other.copy_)), parts_(std::exchange(other.parts_, {})) {}

HeldState::~HeldState() {
  if (use_ == StateUse::read) return;
  for (const Part& part : parts_) std::memcpy(part.in_pool, copy_.data() + part.at, part.bytes);
}

TensorView HeldState::bind(const PoolSet& pools, const StateTensor& tensor, const std::vector<const BoundView*>& pieces,
                           std::span<const BlockId> ids, std::size_t& used) {
  const auto place_of = [&](const BoundView& view) {
    return slice(view.address, "block", ids[static_cast<std::size_t>(view.view.piece)]);
  };
  if (ids.size() == 1) return pools.tensor(*pieces.front(), place_of(*pieces.front()));
  const std::size_t first = used;
  for (const BoundView* view : pieces) {
    const Layout place = place_of(*view);
    const Part part{pools.pool(view->view.pool).data() + place.offset(),
                    first + static_cast<std::size_t>(view->view.first_element * view->element_bytes()),
                    static_cast<std::size_t>(place.num_elements() * view->element_bytes())};
    std::memcpy(copy_.data() + part.at, part.in_pool, part.bytes);
    parts_.push_back(part);
  }
  used += static_cast<std::size_t>(round_up(tensor.bytes(), 8));
  const std::span<std::byte> own(copy_.data() + first, static_cast<std::size_t>(tensor.bytes()));
  return make_view(own, tensor.dtype, row_major(tensor.layout.axes()));
}

}  // namespace hybridkv
