#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridkv {

/// Whether a character could drive a terminal or show a text as another one: controls (C0, DEL, C1), line and paragraph
/// separators, marks and overrides of the writing direction, invisible operators, noncharacters. Joiners stay: words of
/// some scripts, and emoji, need them.
bool is_unprintable(std::uint32_t code_point);

/// The text as it may be shown, so that a name out of somebody's file can neither break a table nor drive a terminal
/// nor pass for another: every unprintable character (a newline and an escape too) is a space, and a byte that is no
/// UTF-8 is U+FFFD.
std::string printable(std::string_view text);

/// The same for a text of several lines, whose ends stay.
std::string printable_lines(std::string_view text);

}  // namespace hybridkv
