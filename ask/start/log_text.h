#pragma once

#include <string>
#include <string_view>

namespace hybridkv {

/// Without the escapes that colour a terminal.
std::string without_colours(std::string_view line);

/// Digits with commas between thousands and one point, without the commas; empty where none begin here. What follows it
/// is left in `rest`.
std::string take_number(std::string_view text, std::string_view& rest);

}  // namespace hybridkv
