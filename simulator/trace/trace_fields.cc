#include "simulator/trace/trace_fields.h"

#include <fmt/format.h>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

namespace {

[[noreturn]] void fail_field(const JsonElement& object, const char* field, const char* wanted) {
  JsonElement value;
  if (object[field].get(value)) throw DamagedLine{fmt::format("no field {}", field)};
  throw DamagedLine{fmt::format("{} is {}, not {}", field, kind_text(value), wanted)};
}

}  // namespace

std::string_view kind_text(const JsonElement& value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: return "a list";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::STRING: return "text";
    case simdjson::dom::element_type::BOOL: return "true or false";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
}

std::int64_t integer_field(const JsonElement& object, const char* field, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  if (const auto error = object[field].get(value)) {
    throw DamagedLine{error == simdjson::NO_SUCH_FIELD ? fmt::format("no field {}", field)
                                                       : fmt::format("{} is no integer", field)};
  }
  if (value < least || value > most)
    throw DamagedLine{fmt::format("{} is {}, outside {} .. {}", field, value, least, most)};
  return value;
}

double time_field(const JsonElement& object, const char* field) {
  double value = 0;
  if (object[field].get(value)) fail_field(object, field, "a number");
  if (!(value >= 0 && value <= latest_time))
    throw DamagedLine{fmt::format("{} is {}, outside 0 .. {}", field, value, latest_time)};
  return value;
}

std::string_view text_field(const JsonElement& object, const char* field) {
  std::string_view text;
  if (object[field].get(text)) fail_field(object, field, "text");
  return text;
}

bool has_field(const JsonElement& object, const char* field) {
  JsonElement value;
  return !object[field].get(value) && !value.is_null();
}

void id_list(const JsonElement& object, const char* field, std::vector<std::uint64_t>& ids, bool texts) {
  simdjson::dom::array list;
  if (object[field].get(list)) throw DamagedLine{fmt::format("{} is missing or no list", field)};
  ids.clear();
  for (const JsonElement id : list) {
    std::int64_t value = 0;
    std::uint64_t large = 0;
    std::string_view text;
    if (!id.get(value))
      large = static_cast<std::uint64_t>(value);
    else if (texts && !id.get(text))
      large = text_hash(text);
    else if (id.get(large))
      throw DamagedLine{fmt::format("{}[{}] is no 64-bit integer", field, ids.size())};
    ids.push_back(large);
  }
}

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = empty_chain;
  for (const char letter : text) hash = mix64(hash, static_cast<unsigned char>(letter));
  return hash == 0 ? 1 : hash;
}

std::uint64_t name_hash(const JsonElement& object, const char* field) {
  if (!has_field(object, field)) return 0;
  std::int64_t number = 0;
  if (!object[field].get(number)) return text_hash(fmt::format("{}", number));
  return text_hash(text_field(object, field));
}

}  // namespace hybridkv
