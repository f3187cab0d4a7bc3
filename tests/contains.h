#pragma once

#include <string>

namespace hybridkv::testing {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline bool contains_once(const std::string& text, const std::string& part) {
  return contains(text, part) && text.find(part) == text.rfind(part);
}

}  // namespace hybridkv::testing
