#include "report/plot/bar_scale.h"

#include <algorithm>

namespace hybridkv {

namespace {

constexpr double narrowest = 7;  ///< of a part that can still be seen and pointed at

}  // namespace

BarScale::BarScale(const std::vector<PagePart>& all, ByteExtent bytes, double left, double width)
    : bytes_(bytes), bar_width_(width) {
  for (const PagePart& part : all)
    if (part.bytes.begin >= bytes.begin && part.bytes.end <= bytes.end) parts_.push_back(&part);
  std::vector<double> widths = natural_widths();
  widen(widths);
  double x = left;
  for (const double part : widths) {
    edges_.push_back(x);
    x += part;
  }
  edges_.push_back(left + width);
}

bool BarScale::to_scale() const {
  return std::none_of(widened_.begin(), widened_.end(), [](bool widened) { return widened; });
}

double BarScale::x(std::int64_t byte) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const ByteExtent& bytes = parts_[i]->bytes;
    if (byte > bytes.end) continue;
    return left(i) + width(i) * static_cast<double>(byte - bytes.begin) / static_cast<double>(bytes.end - bytes.begin);
  }
  return edges_.back();
}

std::vector<double> BarScale::natural_widths() const {
  std::vector<double> widths;
  for (const PagePart* part : parts_)
    widths.push_back(bar_width_ * static_cast<double>(part->bytes.end - part->bytes.begin) /
                     static_cast<double>(bytes_.end - bytes_.begin));
  return widths;
}

/// Makes narrow parts visible at the cost of the others, unless there are too many of them.
void BarScale::widen(std::vector<double>& widths) {
  widened_.assign(widths.size(), false);
  if (narrowest * static_cast<double>(widths.size()) > bar_width_ / 2) return;
  while (true) {
    double fixed = 0;
    double free = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) (widened_[i] ? fixed : free) += widths[i];
    const double factor = (bar_width_ - fixed) / free;
    bool changed = false;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widened_[i] || widths[i] * factor >= narrowest) continue;
      widths[i] = narrowest;
      widened_[i] = changed = true;
    }
    if (changed) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (!widened_[i]) widths[i] *= factor;
    return;
  }
}

}  // namespace hybridkv
