#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hybridkv {

/// The character at the start of a text.
struct Utf8Character {
  std::uint32_t code_point = 0;  ///< U+FFFD where `valid` is false
  std::size_t length = 1;        ///< bytes; 1 where it is no valid UTF-8
  bool valid = true;
};

/// Decodes it strictly: no overlong forms, no surrogates, nothing past U+10FFFF. Pre: the text is not empty.
Utf8Character decode_utf8(std::string_view text);

}  // namespace hybridkv
