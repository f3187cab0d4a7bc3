#include "layout/layout.h"

#include <fmt/format.h>

#include <vector>

namespace hybridkv {

Layout row_major(std::span<const Axis> axes, std::int64_t offset) {
  std::vector<Axis> dense(axes.begin(), axes.end());
  Checked stride = 1;
  for (std::size_t i = dense.size(); i-- > 0;) {
    dense[i].stride = stride;
    stride *= dense[i].extent;
  }
  return Layout(dense, offset);
}

std::string to_string(const Layout& layout) {
  std::string shape, strides;
  for (const Axis& axis : layout.axes()) {
    const char* comma = shape.empty() ? "" : ", ";
    shape += fmt::format("{}{} {}", comma, axis.name.view(), axis.extent);
    strides += fmt::format("{}{}", comma, axis.stride);
  }
  std::string text = fmt::format("({}):({})", shape, strides);
  if (layout.offset() != 0) text += fmt::format(" + {}", layout.offset());
  return text;
}

}  // namespace hybridkv
