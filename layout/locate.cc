#include "layout/locate.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Looks for an index axis by axis, the largest stride first.
class LocateSearch {
 public:
  LocateSearch(const Layout& layout, std::int64_t element)
      : layout_(layout), index_(static_cast<std::size_t>(layout.rank())) {
    for (int axis = 0; axis < layout.rank(); ++axis)
      if (layout[axis].stride > 0 && layout[axis].extent > 1) order_.push_back(axis);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return layout[a].stride > layout[b].stride; });
    spans_.assign(order_.size() + 1, element - 1);
    for (std::size_t i = order_.size(); i-- > 0;)
      spans_[i] = Checked(spans_[i + 1]) + Checked(layout[order_[i]].extent - 1) * layout[order_[i]].stride;
  }

  std::optional<Located> find(std::int64_t rest) {
    if (!descend(0, rest)) return std::nullopt;
    return Located{std::move(index_), rest_};
  }

 private:
  /// Tries the positions of an axis that leave what the axes inside of it can reach.
  bool descend(std::size_t depth, std::int64_t rest) {
    if (rest < 0 || rest > spans_[depth]) return false;
    if (depth == order_.size()) {
      rest_ = rest;
      return true;
    }
    const Axis& axis = layout_[order_[depth]];
    const std::int64_t beyond = rest - spans_[depth + 1];
    const std::int64_t least = beyond > 0 ? ceil_div(beyond, axis.stride) : 0;
    for (std::int64_t i = std::min(rest / axis.stride, axis.extent - 1); i >= least; --i) {
      index_[static_cast<std::size_t>(order_[depth])] = i;
      if (descend(depth + 1, rest - i * axis.stride)) return true;
    }
    return false;
  }

  const Layout& layout_;
  std::vector<std::int64_t> index_;
  std::vector<int> order_;           ///< axes with several positions, by stride
  std::vector<std::int64_t> spans_;  ///< what the axes from each on can reach, the last place of an element too
  std::int64_t rest_ = 0;
};

}  // namespace

std::optional<Located> locate(const Layout& layout, std::int64_t place, std::int64_t element) {
  expects(element >= 1, "an element covers at least one place");
  if (layout.num_elements() == 0 || place < layout.offset()) return std::nullopt;
  return LocateSearch(layout, element).find(place - layout.offset());
}

}  // namespace hybridkv
