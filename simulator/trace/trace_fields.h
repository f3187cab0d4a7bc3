#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// A line that cannot be read as a request; skipped where the user allows it.
struct DamagedLine {
  std::string what;
};

using JsonElement = simdjson::dom::element;

/// Lengths beyond this are a damaged line, not a prompt; sums over a trace then stay far from 64 bits.
inline constexpr std::int64_t longest_length = std::int64_t{1} << 40;
/// Times beyond this, in the unit of the field, are a damaged line; sums of them stay exact to the millisecond.
inline constexpr double latest_time = 1e15;

// Fields of a JSON object. All throw DamagedLine, which names the field and what it is.

/// An integer from `least` to `most`.
std::int64_t integer_field(const JsonElement& object, const char* field, std::int64_t least, std::int64_t most);
/// A number from 0 to latest_time.
double time_field(const JsonElement& object, const char* field);
/// Text; valid as long as the object.
std::string_view text_field(const JsonElement& object, const char* field);
/// Is the field there and not null?
bool has_field(const JsonElement& object, const char* field);

/// The list of 64-bit ids of a field, with or without sign; where `texts`, an id may be text, which is hashed.
/// Replaces the content of `ids`.
void id_list(const JsonElement& object, const char* field, std::vector<std::uint64_t>& ids, bool texts = false);

/// 64 bits of a text, the same on every machine; never 0.
std::uint64_t text_hash(std::string_view text);
/// The same of a field that is text or an integer; 0 where it is missing or null.
std::uint64_t name_hash(const JsonElement& object, const char* field);

/// "a list", "text", … : how messages call what is there instead.
std::string_view kind_text(const JsonElement& value);

}  // namespace hybridkv
