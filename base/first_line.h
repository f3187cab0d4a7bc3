#pragma once

#include <string>
#include <string_view>

namespace hybridkv {

/// The first line of a text: of a message what is wrong, without the excerpt of a file that may stand below.
inline std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace hybridkv
