#pragma once

#include "scenarios/source_map.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// Where the key of a section is spelled: of one that a flag makes ("--seed 3" makes simulate.trace.synthetic), by the
/// flag, from which what is in it came.
const Place& spelled_at(const YamlNode& section);

}  // namespace hybridkv
