#include "verify/case_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/error.h"

namespace hybridkv {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file_bytes = std::uintmax_t{16} << 20;
constexpr double largest_factor = 1e6;  // leaves fp32 room for scores, and no use is known for more

/// A value under its key, read strictly.
class Value {
 public:
  Value(const std::string& file, std::string key, const json& value)
      : file_(file), key_(std::move(key)), value_(value) {}

  double factor(bool zero_is_none) const {
    if (!value_.is_number()) fail("a number");
    const auto number = value_.get<double>();
    if (!(number <= largest_factor) || number < 0 || (number == 0 && !zero_is_none))
      fail(zero_is_none ? "a number from 0 to 1e6" : "a number above 0, at most 1e6");
    return number;
  }
  std::int64_t integer(std::int64_t least) const {
    if (!value_.is_number_integer()) fail("a whole number");
    const bool too_large = value_.is_number_unsigned() &&
                           value_.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (too_large || value_.get<std::int64_t>() < least) fail(fmt::format("a whole number from {} to 2^63 - 1", least));
    return value_.get<std::int64_t>();
  }
  std::string text() const {
    if (!value_.is_string()) fail("a text");
    return value_.get<std::string>();
  }
  std::vector<bool> flags() const {
    const bool fits = value_.is_array() &&
                      std::all_of(value_.begin(), value_.end(), [](const json& item) { return item.is_boolean(); });
    if (!fits) fail("a list of true and false");
    return value_.get<std::vector<bool>>();
  }
  std::vector<std::int64_t> integers() const {
    if (!value_.is_array()) fail("a list of whole numbers");
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < value_.size(); ++i)
      numbers.push_back(Value(file_, fmt::format("{}[{}]", key_, i), value_[i]).integer(0));
    return numbers;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    std::string shown = value_.dump(-1, ' ', false, json::error_handler_t::replace);
    if (shown.size() > 40) shown = fmt::format("a value of type {}", value_.type_name());
    throw InputError(fmt::format("{}: {}: {}, where {} is expected", file_, key_, shown, expected));
  }

 private:
  const std::string& file_;
  std::string key_;
  const json& value_;
};

struct KeyReader {
  const char* key;
  std::function<void(CaseSettings& settings, const Value& value)> read;
};

DType dtype_of(const Value& value) {
  const auto dtype = parse_dtype(value.text());
  if (!dtype) value.fail("one of fp32, fp16, bf16, fp8_e4m3, fp8_e5m2");
  return *dtype;
}

MaskKind mask_of(const Value& value) {
  const std::string name = value.text();
  for (const MaskKind kind : {MaskKind::full, MaskKind::sliding_window, MaskKind::chunked_local})
    if (name == to_string(kind)) return kind;
  value.fail("one of full, sliding_window, chunked_local");
}

KeyReader size_reader(const char* key) {
  return {key,
          [key](CaseSettings& settings, const Value& value) { settings.sizes.emplace_back(key, value.integer(0)); }};
}

const std::vector<KeyReader>& readers() {
  const auto ignore = [](CaseSettings&, const Value&) {};
  static const std::vector<KeyReader> all{
      {"scale", [](CaseSettings& settings, const Value& value) { settings.scale = value.factor(false); }},
      {"is_decode", [](CaseSettings& settings, const Value& value) { settings.is_decode = value.flags(); }},
      {"dtype", [](CaseSettings& settings, const Value& value) { settings.dtype = dtype_of(value); }},
      {"mask", [](CaseSettings& settings, const Value& value) { settings.mask.kind = mask_of(value); }},
      {"window_tokens",
       [](CaseSettings& settings, const Value& value) { settings.mask.window_tokens = value.integer(1); }},
      {"soft_cap", [](CaseSettings& settings, const Value& value) { settings.soft_cap = value.factor(true); }},
      size_reader("block_size"),
      size_reader("num_blocks"),
      size_reader("num_heads"),
      size_reader("num_kv_heads"),
      size_reader("head_size"),
      {"query_lens", [](CaseSettings& settings, const Value& value) { settings.query_lens = value.integers(); }},
      {"context_lens", [](CaseSettings& settings, const Value& value) { settings.context_lens = value.integers(); }},
      {"layer", ignore},
      {"name", ignore},
      {"all_prompt_partition", ignore},
      {"decode_cached_partition", ignore},
      {"chunked_bias_bytes", ignore},
  };
  return all;
}

std::string content_of(const fs::path& file, const fs::file_status& status) {
  if (!fs::is_regular_file(status)) throw InputError(file.string() + ": not a regular file");
  std::ifstream stream(file, std::ios::binary);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (!stream || error) throw InputError(file.string() + ": cannot be read");
  if (bytes > largest_file_bytes) throw InputError(file.string() + ": is larger than 16 MiB");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Parses the text; a key that stands twice in one object is refused, which the library would not do.
json parse(const fs::path& file, const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of every object that is open
  const auto check = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw InputError(fmt::format("{}: the key \"{}\" stands twice", file.string(), parsed.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    // Without the library's own numbering: "[json.exception.parse_error.101] parse error at line 1, …".
    const std::string_view message = error.what();
    const std::size_t number_end = message.find("] ");
    throw InputError(fmt::format("{}: {}", file.string(),
                                 number_end == std::string_view::npos ? message : message.substr(number_end + 2)));
  }
}

}  // namespace

void CaseSettings::check_size(const std::string& key, std::int64_t derived) const {
  for (const auto& [name, value] : sizes)
    if (name == key && value != derived)
      throw InputError(fmt::format("{}: {}: {}, but the tensors have {}", source, key, value, derived));
}

CaseSettings read_case_settings(const fs::path& file) {
  CaseSettings settings;
  settings.source = file.string();
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return settings;
  if (error) throw InputError(fmt::format("{}: cannot be read: {}", file.string(), error.message()));
  const json content = parse(file, content_of(file, status));
  if (!content.is_object()) throw InputError(file.string() + ": is no JSON object; write {\"scale\": 0.125}");
  for (const auto& item : content.items()) {
    const auto reader = std::find_if(readers().begin(), readers().end(),
                                     [&](const KeyReader& known) { return item.key() == known.key; });
    if (reader == readers().end()) {
      std::vector<std::string> known;
      for (const KeyReader& one : readers()) known.emplace_back(one.key);
      throw InputError(
          fmt::format("{}: unknown key \"{}\"; known are {}", file.string(), item.key(), fmt::join(known, ", ")));
    }
    reader->read(settings, Value(settings.source, item.key(), item.value()));
  }
  const bool has_window = content.contains("window_tokens");
  if (settings.mask.kind != MaskKind::full && !has_window)
    throw InputError(fmt::format("{}: window_tokens: is missing; the mask {} needs it", file.string(),
                                 to_string(settings.mask.kind)));
  if (settings.mask.kind == MaskKind::full && has_window)
    throw InputError(fmt::format(
        "{}: window_tokens: goes with the masks sliding_window and chunked_local, not with full", file.string()));
  return settings;
}

}  // namespace hybridkv
