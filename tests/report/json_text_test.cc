#include "report/json_text.h"

#include <doctest/doctest.h>

using Json = nlohmann::ordered_json;
using hybridkv::json_text;

TEST_CASE("edge: what is short stays on one line") {
  CHECK(json_text(Json::object()) == "{}\n");
  CHECK(json_text(Json::array()) == "[]\n");
  CHECK(json_text(Json(3.0)) == "3.0\n");
  CHECK(json_text(Json{{"shape", {1, 2}}, {"pages", {{1}, {2}}}}) == "{\"shape\": [1, 2], \"pages\": [[1], [2]]}\n");
}

TEST_CASE("edge: what is long or deep is indented, a list of numbers never") {
  Json numbers = Json::array();
  for (int i = 0; i < 60; ++i) numbers.push_back(i);
  std::string line = "[0";
  for (int i = 1; i < 60; ++i) line += ", " + std::to_string(i);
  line += "]";
  CHECK(json_text(Json{{"numbers", numbers}, {"empty", nullptr}}) ==
        "{\n  \"numbers\": " + line + ",\n  \"empty\": null\n}\n");
  CHECK(json_text(Json{{"a", {{"b", {{"c", {{"d", 1}}}}}}}}) ==
        "{\n  \"a\": {\"b\": {\"c\": {\"d\": 1}}}\n}\n");
}

TEST_CASE("edge: one line has at most 119 characters") {
  const auto with_text = [](std::size_t length) { return json_text(Json{{"k", std::string(length, 'x')}}); };
  CHECK(with_text(110) == "{\"k\": \"" + std::string(110, 'x') + "\"}\n");
  CHECK(with_text(111) == "{\n  \"k\": \"" + std::string(111, 'x') + "\"\n}\n");
}

TEST_CASE("edge: text is escaped, broken UTF-8 replaced") {
  CHECK(json_text(Json("a\"b\\\n\x01")) == "\"a\\\"b\\\\\\n\\u0001\"\n");
  CHECK(json_text(Json("a\xff")) == "\"a\xef\xbf\xbd\"\n");
  CHECK(json_text(Json{{"ke\"y", 1}}) == "{\"ke\\\"y\": 1}\n");
}

TEST_CASE("law: the text parses to the value, every double exactly") {
  const Json value{
      {"tenth", 0.1}, {"third", 1.0 / 3}, {"tiny", 5e-324}, {"big", 1.7976931348623157e308}, {"deep", {{{1, {2}}}}}};
  CHECK(Json::parse(json_text(value)) == value);
}

TEST_CASE("edge: JSON drives no terminal and loses nothing") {
  const std::string name = "a\x1b\u009b\u202e\U000e0041b\x7f größe";
  const std::string text = hybridkv::json_text({{"name", name}});
  CHECK(text == "{\"name\": \"a\\u001b\\u009b\\u202e\\udb40\\udc41b\\u007f größe\"}\n");
  CHECK(nlohmann::json::parse(text)["name"] == name);
}
