#pragma once

#include <string_view>

#include "scenarios/read.h"

namespace hybridkv {

/// Does the file, or a flag laid over it, say this key of a section? What it does not say, a question may fill in.
inline bool is_asked(const ScenarioFile& file, std::string_view section, std::string_view key) {
  const YamlNode* const mapping = file.root.find(section);
  return mapping != nullptr && mapping->find(key) != nullptr;
}

}  // namespace hybridkv
