#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// Keys of a kind with their numbers, in the order of the model file.
using HfEntries = std::initializer_list<std::pair<std::string_view, HfNumber>>;

/// Adds a key whose value stands where its number does.
void add_hf_number(YamlNode& kind, std::string_view key, const HfNumber& number);

/// {type: TYPE}; the kind as a whole stands at `place`.
YamlNode hf_typed_kind(std::string_view type, const Place& place);

/// {type: TYPE, key: number, …}, standing where its first number does.
YamlNode hf_kind(std::string_view type, HfEntries entries);

/// Fails where `whole` is no multiple of `part`; the nouns say what each counts.
void require_hf_multiple(const HfNumber& whole, const char* wholes, const HfNumber& part, const char* parts);

/// Another number, of the field and at the place of this one.
HfNumber hf_number_at(std::int64_t value, const HfNumber& from);

}  // namespace hybridkv
