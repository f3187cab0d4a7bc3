#pragma once

#include <string>

namespace hybridkv {

/// The word as a shell reads it back, in quotes only where it needs them.
std::string shell_word(const std::string& text);

}  // namespace hybridkv
