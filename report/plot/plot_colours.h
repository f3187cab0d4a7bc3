#pragma once

#include <cstddef>
#include <string>

namespace hybridkv {

/// The colour of the series with that look in a picture of so many, "#RRGGBB". Up to seven are Okabe and Ito's hues,
/// which people with any kind of colour blindness can tell apart; more of them lie along viridis, dark to light in
/// their order, so that no two share a hue. Pre: look < looks.
std::string line_colour(std::size_t look, std::size_t looks);

/// The colour of a stacked bar or area, of eight. Pre: look < 8.
std::string fill_colour(std::size_t look);

}  // namespace hybridkv
