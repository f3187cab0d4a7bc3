#include "base/printable.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace hybridkv {

namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr std::array<Range, 10> unprintable{{{0x0000, 0x001f},    // C0
                                             {0x007f, 0x009f},    // DEL, C1: U+009B starts an escape sequence
                                             {0x061c, 0x061c},    // Arabic letter mark
                                             {0x200e, 0x200f},    // marks of direction
                                             {0x2028, 0x202e},    // separators, embeddings and overrides
                                             {0x2060, 0x206f},    // invisible operators, isolates
                                             {0xfdd0, 0xfdef},    // noncharacters
                                             {0xfeff, 0xfeff},    // byte order mark
                                             {0xfff9, 0xfffb},    // annotations
                                             {0xe0000, 0xe007f}}};  // tags

}  // namespace

bool is_unprintable(std::uint32_t code_point) {
  if ((code_point & 0xfffe) == 0xfffe) return true;  // the last two of every plane are noncharacters
  return std::any_of(unprintable.begin(), unprintable.end(), [&](const Range& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character next = decode_utf8(text);
    if (!next.valid)
      result += "\xef\xbf\xbd";
    else if (is_unprintable(next.code_point))
      result += ' ';
    else
      result += text.substr(0, next.length);
    text.remove_prefix(next.length);
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += printable(text.substr(0, end));
    if (end == std::string_view::npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace hybridkv
