#pragma once

#include <string>

namespace hybridkv {

/// What --version prints: the version in a line of its own, the commit, and the formats of files by their versions.
std::string version_text();

}  // namespace hybridkv
