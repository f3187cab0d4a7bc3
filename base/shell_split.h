#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// The words of a text as a POSIX shell splits it: quotes and backslashes are read, a backslash before the end of a
/// line goes on in the next, comments are left out. A separator of commands (";", "&&", "|", ">", the end of a line) is
/// a word by itself, "\n" that of a line; variables stay as they are written. Throws InputError where a quote is never
/// closed.
std::vector<std::string> shell_split(std::string_view text);

}  // namespace hybridkv
