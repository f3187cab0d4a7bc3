#pragma once

#include <string>
#include <vector>

namespace hybridkv {

/// The shells that there is a script for.
std::vector<std::string> completed_shells();

/// The script by which a shell completes: it asks `hybridkv completions candidates` and shows the answer in the
/// shell's own way. Pre: `shell` is one of completed_shells().
std::string completion_script(const std::string& shell);

}  // namespace hybridkv
