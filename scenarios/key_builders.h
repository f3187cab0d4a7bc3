#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/key_table.h"

namespace hybridkv {

/// A key of which only name and explanation are known; the Section it is added to gives it its type.
KeyInfo key(std::string name, std::string doc);

/// The key, which must be there.
KeyInfo required(KeyInfo info);

/// A number of layers, heads, channels, ranks: at most 1,000,000, far beyond any model and small enough to enumerate.
KeyInfo count(std::string name, std::string doc, std::int64_t minimum = 1);

/// A number of blocks, requests or bytes, up to what 64 bits hold.
KeyInfo amount(std::string name, std::string doc, std::int64_t minimum = 1);

/// A number of tokens, up to what 64 bits hold; 32k is 32,768 (parse_tokens).
KeyInfo tokens(std::string name, std::string doc, std::int64_t minimum = 1);

/// An element type.
KeyInfo dtype(std::string name, std::string doc);

/// The key, which takes one of these words.
KeyInfo with_choices(KeyInfo info, std::vector<std::string> choices);

/// The key, which sets fields of the planner's spec under other names.
KeyInfo sets(KeyInfo info, std::vector<std::string> spec_names);

}  // namespace hybridkv
