#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hybridkv::testing {

enum class SchemaUse {
  input,   ///< of what users write: everything that was taken still is
  output,  ///< of what others read: everything that was written still is, in the same form
};

/// Ways in which a JSON Schema breaks what an older one of the same format promised, one line each:
/// "/plans: required no more". Keys, words and alternatives may be added; taken away, renamed or made stricter (of an
/// output: looser) they are breaks. Schemas whose $id differs are of different major versions and promise each other
/// nothing. Throws std::logic_error for a keyword it does not know, so that no schema can break unseen.
std::vector<std::string> schema_breaks(const nlohmann::json& old_schema, const nlohmann::json& new_schema,
                                       SchemaUse use);

}  // namespace hybridkv::testing
