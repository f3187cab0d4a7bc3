#include "layout/layout.h"

#include <fmt/format.h>

namespace hybridkv {

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
