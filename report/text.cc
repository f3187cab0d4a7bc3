#include "report/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "base/utf8.h"

namespace hybridkv {

namespace {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};
// Blocks of Unicode that a terminal draws over the character before them, and those it draws two columns wide.
constexpr std::array<CodeRange, 5> zero_width{
    {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
constexpr std::array<CodeRange, 9> double_width{{{0x1100, 0x115f},
                                                 {0x2e80, 0x303e},
                                                 {0x3041, 0xa4cf},
                                                 {0xac00, 0xd7a3},
                                                 {0xf900, 0xfaff},
                                                 {0xfe30, 0xfe6f},
                                                 {0xff00, 0xff60},
                                                 {0x1f300, 0x1faff},
                                                 {0x20000, 0x3fffd}}};

template <std::size_t n>
bool contains(const std::array<CodeRange, n>& ranges, std::uint32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CodeRange& range) { return range.first <= code_point && code_point <= range.last; });
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string ansi(const char* code, const std::string& text, const Style& style) {
  return style.colour && !text.empty() ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character next = decode_utf8(text);
    width += contains(zero_width, next.code_point) ? 0 : contains(double_width, next.code_point) ? 2 : 1;
    text.remove_prefix(next.length);
  }
  return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t used = 0;
  while (true) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t word_width = display_width(word);
    if (lines.empty() || used + 1 + word_width > width) {
      lines.emplace_back(word);
      used = word_width;
    } else {
      lines.back() += ' ';
      lines.back() += word;
      used += 1 + word_width;
    }
  }
  return lines;
}

std::vector<std::string> wrap_command(std::string_view command, std::size_t width) {
  if (display_width(command) <= width) return {std::string(command)};
  constexpr std::size_t room_for_backslash = 2;
  std::vector<std::string> lines{""};
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= command.size(); ++i) {
    const bool end = i == command.size();
    if (!end && command[i] == '\\' && !quoted) {
      ++i;  // what follows it means itself
      continue;
    }
    if (!end && command[i] == '\'') quoted = !quoted;
    if (!end && (quoted || !command.substr(i).starts_with(" -"))) continue;
    const std::string_view part = command.substr(start, i - start);
    if (!lines.back().empty() && display_width(lines.back()) + display_width(part) + room_for_backslash > width) {
      lines.back() += " \\";
      lines.emplace_back("   ");
    }
    lines.back() += part;
    start = i;
  }
  return lines;
}

std::string escape_markdown(std::string_view text, bool in_table) {
  const std::string plain = printable(text);
  std::string result;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char before = i == 0 ? ' ' : plain[i - 1];
    const char after = i + 1 == plain.size() ? ' ' : plain[i + 1];
    // At the start of a line these would open a heading, a quotation or a list.
    const bool opening =
        i == 0 && (plain[i] == '#' || plain[i] == '>' || ((plain[i] == '+' || plain[i] == '-') && after == ' '));
    // A star between spaces and an underscore inside a word mean nothing to Markdown.
    const bool special = opening || plain[i] == '\\' || plain[i] == '`' || plain[i] == '<' || plain[i] == '[' ||
                         (plain[i] == '*' && !(before == ' ' && after == ' ' && i > 0)) ||
                         (plain[i] == '_' && !(is_word(before) && is_word(after))) || (plain[i] == '|' && in_table);
    if (special) result += '\\';
    result += plain[i];
  }
  return result;
}

std::string bold(const std::string& text, const Style& style) { return ansi("1", text, style); }
std::string dim(const std::string& text, const Style& style) { return ansi("2", text, style); }
std::string green(const std::string& text, const Style& style) { return ansi("32", text, style); }
std::string yellow(const std::string& text, const Style& style) { return ansi("33", text, style); }

}  // namespace hybridkv
