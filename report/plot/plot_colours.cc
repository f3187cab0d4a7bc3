#include "report/plot/plot_colours.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"

namespace hybridkv {

namespace {

// Without Okabe and Ito's yellow, too light for a line on white: grey takes its place. Black is left to references.
constexpr std::array<const char*, 7> hues{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666"};
constexpr std::array<const char*, 8> fills{"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                           "#56B4E9", "#F0E442", "#D55E00", "#BBBBBB"};

// Viridis (van der Walt and Smith, matplotlib 2.0) at eighths, up to where it is still seen on white.
constexpr std::array<std::array<double, 3>, 8> ramp{{{68, 1, 84},
                                                     {70, 50, 126},
                                                     {54, 92, 141},
                                                     {39, 127, 142},
                                                     {31, 161, 135},
                                                     {74, 193, 109},
                                                     {122, 209, 81},
                                                     {160, 200, 30}}};

}  // namespace

std::string line_colour(std::size_t look, std::size_t looks) {
  expects(look < looks, "a look is one of those of its picture");
  if (looks <= hues.size()) return hues[look];
  const double place = static_cast<double>(look) * (ramp.size() - 1) / static_cast<double>(looks - 1);
  const auto below = std::min(static_cast<std::size_t>(place), ramp.size() - 2);
  const double share = place - static_cast<double>(below);
  std::string colour = "#";
  for (std::size_t part = 0; part < 3; ++part)
    colour += fmt::format(
        "{:02X}", static_cast<int>(std::lround(ramp[below][part] * (1 - share) + ramp[below + 1][part] * share)));
  return colour;
}

std::string fill_colour(std::size_t look) {
  expects(look < fills.size(), "a stack has at most eight parts");
  return fills[look];
}

}  // namespace hybridkv
