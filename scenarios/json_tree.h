#pragma once

#include <string_view>

#include "scenarios/yaml_tree.h"

namespace hybridkv {

/// Reads one JSON text into the same tree as parse_yaml, so that the same readers and messages serve both: texts are
/// quoted scalars, numbers, true and false plain ones as they are written, null is nothing. The constants NaN,
/// Infinity and -Infinity, which Python's json module writes into published configs, are read as numbers.
/// Throws InputError with line and column: broken JSON, a key twice in one mapping, more than 100,000 values or
/// 64 levels.
YamlNode parse_json(std::string_view text, SourceText source);

}  // namespace hybridkv
