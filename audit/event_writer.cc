#include "audit/event_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "audit/event_fields.h"

namespace hybridkv {

namespace {

/// Writes the fields of a line as a JSON object; those that have the value of their absence are left out.
class LineArchive {
 public:
  void required(const char* name, const std::int64_t& value) { field(name), number(value); }
  void required(const char* name, const std::string& value) { field(name), text(value); }
  void required(const char* name, const std::vector<std::int64_t>& values) {
    list(name, values, [&](std::int64_t value) { number(value); });
  }
  void required(const char* name, const std::vector<std::uint64_t>& keys) {
    list(name, keys, [&](std::uint64_t key) { fmt::format_to(std::back_inserter(line_), "\"{:016x}\"", key); });
  }
  template <class Row>
    requires std::is_class_v<Row>
  void required(const char* name, std::vector<Row>& rows) {
    list(name, rows, [&](Row& row) { object(row); });
  }
  template <class Enum, std::size_t size>
  void required(const char* name, const Enum& value, const NamedValues<Enum, size>& names) {
    field(name), text(name_in(names, value));
  }

  void optional(const char* name, const std::int64_t& value, std::int64_t absent) {
    if (value != absent) required(name, value);
  }
  void optional(const char* name, const bool& value, bool absent) {
    if (value != absent) field(name), line_ += value ? "true" : "false";
  }
  template <class Value>
  void optional(const char* name, Value& value) {
    if (!value.empty()) required(name, value);
  }
  template <class Enum, std::size_t size>
  void optional(const char* name, const Enum& value, const NamedValues<Enum, size>& names, Enum absent) {
    if (value != absent) required(name, value, names);
  }

  template <class Row>
  void object(Row& row) {
    line_ += '{';
    is_first_ = true;
    fields(*this, row);
    line_ += '}';
    is_first_ = false;
  }
  template <class Event>
  std::string event(std::string_view name, Event& of) {
    line_ = fmt::format("{{\"event\":\"{}\"", name);
    is_first_ = false;
    fields(*this, of);
    return line_ + "}\n";
  }
  const std::string& line() const { return line_; }

 private:
  void field(const char* name) {
    if (!is_first_) line_ += ',';
    is_first_ = false;
    line_ += '"';
    line_ += name;
    line_ += "\":";
  }
  void number(std::int64_t value) { line_ += fmt::format_int(value).c_str(); }
  void text(std::string_view value) {
    line_ += '"';
    for (const char c : value) {
      if (static_cast<unsigned char>(c) < 0x20)
        fmt::format_to(std::back_inserter(line_), "\\u{:04x}", static_cast<int>(c));
      else if (c == '"' || c == '\\')
        line_ += '\\', line_ += c;
      else
        line_ += c;
    }
    line_ += '"';
  }
  template <class Values, class Write>
  void list(const char* name, Values& values, Write&& write) {
    field(name);
    line_ += '[';
    bool first = true;
    for (auto& value : values) {
      if (!first) line_ += ',';
      first = false;
      write(value);
    }
    line_ += ']';
  }

  std::string line_;
  bool is_first_ = true;
};

std::string_view event_name(const RecordedEvent& event) {
  const auto* const table = std::get_if<TableEvent>(&event);
  for (const NamedEvent& named : named_events()) {
    if (named.blank.index() != event.index()) continue;
    if (!table || std::get<TableEvent>(named.blank).change == table->change) return named.name;
  }
  return "?";
}

}  // namespace

std::string recording_line(const Recording& recording) {
  LineArchive archive;
  Recording written = recording;
  archive.object(written);
  return archive.line() + "\n";
}

std::string recording_line(const RecordedEvent& event) {
  LineArchive archive;
  RecordedEvent written = event;
  return std::visit([&](auto& one) { return archive.event(event_name(event), one); }, written);
}

}  // namespace hybridkv
