#pragma once

#include <string>

namespace hybridkv::testing {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace hybridkv::testing
