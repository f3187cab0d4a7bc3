#include "report/plot/plot_axis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/human.h"

namespace hybridkv {

namespace {

/// The smallest of 1, 2 and 5 times a power of ten that is at least the value.
double round_step(double least, bool whole) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  return whole ? std::max(1.0, step) : step;
}

/// With as many decimals as it has, at most three.
std::string tick_label(double value) {
  for (const int digits : {0, 1, 2})
    if (std::abs(value * std::pow(10, digits) - std::round(value * std::pow(10, digits))) < 1e-6)
      return human_real(value, digits);
  return human_real(value, 3);
}

/// Ends that nothing fixes yet: the values, and 0 where they are all one.
void take_values(const PlotAxis& axis, std::span<const double> values, AxisScale& scale) {
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  scale.least = axis.least.value_or(values.empty() ? 0 : *lowest);
  scale.most = axis.most.value_or(values.empty() ? 0 : *highest);
  if (scale.least < scale.most) return;
  const double only = axis.least ? scale.least : scale.most;
  if (!axis.least) scale.least = std::min(0.0, only);
  if (!axis.most) scale.most = std::max(0.0, only);
  if (scale.least < scale.most) return;
  if (axis.most)
    scale.least = scale.most - 1;
  else
    scale.most = scale.least == axis.floor && axis.ceiling ? *axis.ceiling : scale.least + 1;
}

void mark_linear(const PlotAxis& axis, int most_ticks, AxisScale& scale) {
  const double step = round_step((scale.most - scale.least) / most_ticks, axis.whole);
  if (!axis.least) scale.least = std::max(std::floor(scale.least / step + 1e-9) * step, axis.floor.value_or(-INFINITY));
  if (!axis.most) scale.most = std::min(std::ceil(scale.most / step - 1e-9) * step, axis.ceiling.value_or(INFINITY));
  for (double k = std::ceil(scale.least / step - 1e-9); k * step <= scale.most + 1e-9 * step; ++k) {
    const double at = k == 0 ? 0 : k * step;  // never -0
    scale.ticks.push_back({at, tick_label(at)});
  }
}

/// Powers of two; every so many of them where there is no room for all.
void mark_logarithmic(const PlotAxis& axis, int most_ticks, AxisScale& scale) {
  expects(scale.least > 0, "a logarithmic axis shows values above 0");
  const int first =
      static_cast<int>(axis.least ? std::ceil(std::log2(scale.least)) : std::floor(std::log2(scale.least)));
  const int last = static_cast<int>(axis.most ? std::floor(std::log2(scale.most)) : std::ceil(std::log2(scale.most)));
  if (!axis.least) scale.least = std::exp2(first);
  if (!axis.most) scale.most = std::exp2(last);
  const int stride = std::max(1, (last - first + most_ticks) / most_ticks);
  for (int power = first; power <= last; power += stride)
    scale.ticks.push_back({std::exp2(power), tick_label(std::exp2(power))});
}

}  // namespace

AxisScale axis_scale(const PlotAxis& axis, std::span<const double> values, int most_ticks) {
  expects(most_ticks >= 2, "an axis has room for two labels");
  AxisScale scale;
  take_values(axis, values, scale);
  if (!axis.ticks.empty()) {
    if (!axis.least) scale.least = std::min(scale.least, axis.ticks.front());
    if (!axis.most) scale.most = std::max(scale.most, axis.ticks.back());
    for (const double tick : axis.ticks) scale.ticks.push_back({tick, tick_label(tick)});
  } else if (axis.logarithmic) {
    mark_logarithmic(axis, most_ticks, scale);
  } else {
    mark_linear(axis, most_ticks, scale);
  }
  return scale;
}

}  // namespace hybridkv
