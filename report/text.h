#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "report/format.h"

namespace hybridkv {

/// Columns the text takes on a terminal: code points of UTF-8, combining marks 0, East Asian wide characters and
/// emoji 2. A byte that is no valid UTF-8 counts 1.
std::size_t display_width(std::string_view text);

/// Lines of at most `width` columns, broken at spaces only: a longer word keeps a line of its own.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// A command of a shell in lines of at most `width` columns, each but the last with a backslash at its end; broken
/// before flags only ("-o", "--pack"), never inside quotes, so that a flag with a longer value keeps a longer line.
std::vector<std::string> wrap_command(std::string_view command, std::size_t width);

/// The text so that Markdown shows it as written; `in_table` also keeps it inside its cell.
std::string escape_markdown(std::string_view text, bool in_table = false);

/// Text in a colour or weight, plain where the style asks for none.
std::string bold(const std::string& text, const Style& style);
std::string dim(const std::string& text, const Style& style);
std::string green(const std::string& text, const Style& style);
std::string yellow(const std::string& text, const Style& style);

}  // namespace hybridkv
