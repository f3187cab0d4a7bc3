#pragma once

#include <charconv>
#include <string_view>

namespace hybridkv {

/// Reads a real number at the start of the text, whatever the locale: std::from_chars, which some standard libraries
/// have for whole numbers alone; there the words inf and nan are no numbers.
std::from_chars_result read_real(std::string_view text, double& value);

}  // namespace hybridkv
