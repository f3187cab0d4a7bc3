#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ask/plot/page_strip.h"

namespace hybridkv {

/// Where each byte of a stretch of a page stands on a bar of a picture, in its units: to scale, but for parts that
/// would be too narrow to be seen, which are drawn wider at the cost of the others.
class BarScale {
 public:
  /// Of the parts of `all` that lie in these bytes of the page; the bar begins at `left` and is `width` wide.
  /// Pre: `all` outlives it.
  BarScale(const std::vector<PagePart>& all, ByteExtent bytes, double left, double width);

  const std::vector<const PagePart*>& parts() const { return parts_; }
  ByteExtent bytes() const { return bytes_; }
  double left(std::size_t part) const { return edges_[part]; }
  double right(std::size_t part) const { return edges_[part + 1]; }
  double width(std::size_t part) const { return right(part) - left(part); }
  bool is_widened(std::size_t part) const { return widened_[part]; }
  /// Is no part wider than its bytes say?
  bool to_scale() const;
  double x(std::int64_t byte) const;

 private:
  std::vector<double> natural_widths() const;
  void widen(std::vector<double>& widths);

  ByteExtent bytes_;
  double bar_width_;
  std::vector<const PagePart*> parts_;
  std::vector<double> edges_;
  std::vector<bool> widened_;
};

}  // namespace hybridkv
