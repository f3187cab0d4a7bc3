#include "base/utf8.h"

namespace hybridkv {

Utf8Character decode_utf8(std::string_view text) {
  constexpr Utf8Character broken{0xfffd, 1, false};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return broken;
  std::uint32_t code_point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return broken;
    code_point = code_point << 6 | (byte(i) & 0x3fU);
  }
  const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = 0xd800 <= code_point && code_point < 0xe000;
  if (code_point < least || surrogate || code_point > 0x10ffff) return broken;
  return {code_point, length, true};
}

}  // namespace hybridkv
