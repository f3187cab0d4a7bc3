#include "web/error_json.h"

#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace hybridkv {

namespace {

/// "engine.tensor_parallel", "model.layers[3].attention": words with dots, as scenarios spell keys.
bool is_field(std::string_view text) {
  if (text.empty() || text.find('.') == std::string_view::npos) return text == "model" || text == "engine";
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("_.[]").find(c) == std::string_view::npos)
      return false;
  return true;
}

/// Takes what stands before ": " off the text.
std::string_view take_head(std::string_view& text) {
  const std::size_t end = text.find(": ");
  if (end == std::string_view::npos) return {};
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end + 2);
  return head;
}

}  // namespace

std::string error_json(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) == nullptr) {
    const std::string what = std::string("a fault of the page itself: ") + error.what();
    return nlohmann::ordered_json{{"error", what}, {"field", ""}, {"place", ""}, {"remedy", ""}}.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  // "PLACE: FIELD: what is wrong; remedy", then an excerpt of the text with a caret (scenarios/source_map.h).
  const std::string whole = error.what();
  std::string_view text(whole);
  text = text.substr(0, text.find('\n'));
  std::string_view rest = text, place = take_head(rest), field;
  if (is_field(place)) {
    field = place;
    place = {};
    text = rest;
  } else if (std::string_view behind = rest; is_field(take_head(behind))) {
    field = rest.substr(0, rest.find(": "));
    text = behind;
  } else {
    place = {};
  }
  const std::size_t semicolon = text.find("; ");
  const std::string_view remedy = semicolon == std::string_view::npos ? "" : text.substr(semicolon + 2);
  return nlohmann::ordered_json{{"error", text.substr(0, semicolon)}, {"field", field}, {"place", place},
                                {"remedy", remedy}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hybridkv
