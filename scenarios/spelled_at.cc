#include "scenarios/spelled_at.h"

namespace hybridkv {

const Place& spelled_at(const YamlNode& section) {
  const YamlNode* inner = &section;
  while (inner->kind == YamlNode::Kind::mapping && !inner->entries.empty()) {
    inner = &inner->entries.front().value;
    if (inner->key_place.text != section.key_place.text) return inner->key_place;
  }
  return section.key_place;
}

}  // namespace hybridkv
