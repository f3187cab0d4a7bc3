#pragma once

#include <string_view>

#include "scenarios/read.h"

namespace hybridkv {

/// Does the scenario file, or a flag that overrides it, set this key of a section? A key that is not set may be filled
/// in by the question.
inline bool is_asked(const ScenarioFile& file, std::string_view section, std::string_view key) {
  const YamlNode* const mapping = file.root.find(section);
  return mapping != nullptr && mapping->find(key) != nullptr;
}

}  // namespace hybridkv
