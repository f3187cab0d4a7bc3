#include "audit/event_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "audit/event_fields.h"
#include "base/error.h"
#include "base/random.h"
#include "base/suggest.h"

namespace hybridkv {

namespace {

using JsonValue = simdjson::dom::element;

// Numbers beyond this are damaged, and sums of a few of them stay below 2^63.
constexpr std::int64_t largest_number = std::int64_t{1} << 60;

/// 64 bits of a key: those of up to 16 hexadecimal digits, else a hash of the text.
std::uint64_t key_of(std::string_view text) {
  std::uint64_t digits = 0, hash = 0;
  bool is_hex = text.size() <= 16;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    is_hex = is_hex && digit >= 0;
    digits = digits << 4 | static_cast<std::uint64_t>(digit & 15);
    hash = mix(hash, static_cast<unsigned char>(c));
  }
  const std::uint64_t key = is_hex ? digits : hash;
  return key == 0 ? 1 : key;
}

/// Reads the fields of a line from a JSON object.
class ObjectArchive {
 public:
  explicit ObjectArchive(const JsonValue& object) : object_(object) {}

  template <class Value, class... Names>
  void required(const char* name, Value& value, const Names&... names) {
    JsonValue found;
    if (object_[name].get(found)) throw InputError(fmt::format("no field \"{}\"", name));
    read(found, name, value, names...);
  }
  template <class Value>
  void optional(const char* name, Value& value, std::int64_t absent) {
    value = static_cast<Value>(absent);
    read_present(name, value);
  }
  template <class Value>
  void optional(const char* name, Value& value) {
    value.clear();
    read_present(name, value);
  }
  template <class Enum, std::size_t size>
  void optional(const char* name, Enum& value, const NamedValues<Enum, size>& names, Enum absent) {
    value = absent;
    read_present(name, value, names);
  }

 private:
  template <class Value, class... Names>
  void read_present(const char* name, Value& value, const Names&... names) {
    JsonValue found;
    if (!object_[name].get(found) && !found.is_null()) read(found, name, value, names...);
  }
  static void read(const JsonValue& found, const char* name, std::int64_t& value) {
    if (found.get(value)) throw InputError(fmt::format("\"{}\" is no whole number", name));
    if (value < -1 || value > largest_number)
      throw InputError(fmt::format("\"{}\" is {}, but goes from -1 to 2^60", name, value));
  }
  static void read(const JsonValue& found, const char* name, bool& value) {
    if (found.get(value)) throw InputError(fmt::format("\"{}\" is neither true nor false", name));
  }
  static void read(const JsonValue& found, const char* name, std::string& value) {
    std::string_view text;
    if (found.get(text)) throw InputError(fmt::format("\"{}\" is no text", name));
    value = text;
  }
  static void read(const JsonValue& found, const char* name, std::uint64_t& key) {
    std::string_view text;
    if (found.get(text)) throw InputError(fmt::format("\"{}\" has a key that is no text", name));
    key = key_of(text);
  }
  template <class Enum, std::size_t size>
  static void read(const JsonValue& found, const char* name, Enum& value, const NamedValues<Enum, size>& names) {
    std::string text;
    read(found, name, text);
    const std::optional<Enum> known = value_in(names, text);
    if (!known)
      throw InputError(fmt::format("\"{}\" is \"{}\"{}", name, text,
                                   suggestion(text, names_of(names), "it can be")));
    value = *known;
  }
  template <class Row>
    requires std::is_class_v<Row>
  static void read(const JsonValue& found, const char* name, Row& row) {
    if (!found.is_object()) throw InputError(fmt::format("\"{}\" has an entry that is no object", name));
    ObjectArchive archive(found);
    fields(archive, row);
  }
  template <class Row>
  static void read(const JsonValue& found, const char* name, std::vector<Row>& rows) {
    simdjson::dom::array list;
    if (found.get(list)) throw InputError(fmt::format("\"{}\" is no list", name));
    rows.clear();
    for (const JsonValue one : list) {
      rows.emplace_back();
      read(one, name, rows.back());
    }
  }

  const JsonValue& object_;
};

}  // namespace

struct EventReader::Parser {
  simdjson::dom::parser json;

  JsonValue object_of(std::string_view line) {
    JsonValue object;
    const auto error = json.parse(line.data(), line.size(), false).get(object);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS)
      throw InputError(fmt::format("no JSON object: {}", simdjson::error_message(error)));
    if (!object.is_object()) throw InputError("no JSON object");
    return object;
  }
};

EventReader::EventReader() : parser_(std::make_unique<Parser>()) {}
EventReader::~EventReader() = default;

Recording EventReader::header(std::string_view line) {
  const JsonValue object = parser_->object_of(line);
  std::int64_t version = 0;
  if (object["hybridkv_recording"].get(version))
    throw InputError("this is no recording: its first line has no field \"hybridkv_recording\"; make one by "
                     "hybridkv simulate … --record FILE, or by hybridkv.recorder in the engine (docs/audit.md)");
  if (version != Recording::newest_version)
    throw InputError(fmt::format("the recording has version {}, and this program reads {}; record it with the recorder "
                                 "of this version", version, Recording::newest_version));
  Recording recording;
  ObjectArchive archive(object);
  fields(archive, recording);
  validate(recording);
  return recording;
}

const RecordedEvent& EventReader::event(std::string_view line) {
  const JsonValue object = parser_->object_of(line);
  std::string_view name;
  if (object["event"].get(name)) throw InputError("no field \"event\" that says what happened");
  const std::vector<NamedEvent>& known = named_events();
  const auto named = std::find_if(known.begin(), known.end(), [&](const NamedEvent& one) { return one.name == name; });
  if (named == known.end()) {
    std::vector<std::string> names;
    for (const NamedEvent& one : known) names.emplace_back(one.name);
    throw InputError(fmt::format("\"{}\" is no event{}", name, suggestion(name, names, "they are")));
  }
  if (event_.index() != named->blank.index()) event_ = named->blank;
  if (auto* const table = std::get_if<TableEvent>(&event_)) table->change = std::get<TableEvent>(named->blank).change;
  std::visit(
      [&](auto& one) {
        ObjectArchive archive(object);
        fields(archive, one);
      },
      event_);
  return event_;
}

}  // namespace hybridkv
