#pragma once

#include <string>
#include <vector>

namespace hybridkv {

/// The word as a shell reads it back, in quotes only where it needs them.
std::string shell_word(const std::string& text);

/// The words of a list with blanks between them.
std::string shell_list(const std::vector<std::string>& texts);

}  // namespace hybridkv
