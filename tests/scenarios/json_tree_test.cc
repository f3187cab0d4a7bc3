#include "scenarios/json_tree.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "scenario_text.h"

namespace hybridkv::test {

namespace {

YamlNode parsed(std::string_view text) { return parse_json(text, {"bad.json", "", {}}); }

std::string error_in(std::string_view text) {
  return error_of([&] { parsed(text); });
}

/// A value as the tree should hold it, written without places: texts in quotes, the rest as it stands.
std::string written(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::nothing: return "null";
    case YamlNode::Kind::scalar: return node.quoted ? nlohmann::json(node.text).dump() : node.text;
    case YamlNode::Kind::list:
      for (const YamlNode& item : node.items) text += (text.empty() ? "" : ",") + written(item);
      return "[" + text + "]";
    case YamlNode::Kind::mapping:
      for (const YamlEntry& entry : node.entries)
        text += (text.empty() ? "" : ",") + nlohmann::json(entry.key).dump() + ":" + written(entry.value);
      return "{" + text + "}";
  }
  return "?";
}

/// Where every value stands: "line:column" in the order of the text.
std::string places(const YamlNode& node) {
  std::string text = std::to_string(node.place.line) + ":" + std::to_string(node.place.column);
  for (const YamlNode& item : node.items) text += " " + places(item);
  for (const YamlEntry& entry : node.entries) text += " " + places(entry.value);
  return text;
}

nlohmann::ordered_json random_json(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 8 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return *rc::gen::arbitrary<bool>();
  if (kind == 2) return *rc::gen::arbitrary<std::int64_t>();
  if (kind == 3) return *rc::gen::arbitrary<double>();
  if (kind <= 5) return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  nlohmann::ordered_json value = kind == 6 ? nlohmann::ordered_json::array() : nlohmann::ordered_json::object();
  const int size = *rc::gen::inRange(0, 4);
  for (int i = 0; i < size; ++i) {
    if (kind == 6)
      value.push_back(random_json(depth - 1));
    else
      value["k" + std::to_string(i) + (i % 2 ? "\"," : "é")] = random_json(depth - 1);
  }
  return value;
}

}  // namespace

TEST_CASE("golden: values and their places") {
  const YamlNode root = parsed("{\"a\": 12,\n \"b\" : [true, \"x\\\"y\", null,-3.5e2],\n\t\"c\":{}}");
  CHECK(written(root) == "{\"a\":12,\"b\":[true,\"x\\\"y\",null,-3.5e2],\"c\":{}}");
  CHECK(places(root) == "1:1 1:7 2:8 2:9 2:15 2:23 2:28 3:6");
  CHECK(root.find("b")->key_place.line == 2);
  CHECK(root.find("b")->key_place.column == 2);
}

TEST_CASE("golden: columns count characters, a byte order mark none") {
  CHECK(places(parsed("\xEF\xBB\xBF{\"é\": 1, \"b\": 2}")) == "1:1 1:7 1:15");
}

TEST_CASE("golden: the constants that Python writes are numbers, in texts they are texts") {
  const YamlNode root = parsed("{\"a\": [0.0, Infinity, -Infinity, NaN], \"Infinity\": \"NaN \\\\\"}");
  CHECK(written(root) == "{\"a\":[0.0,Infinity,-Infinity,NaN],\"Infinity\":\"NaN \\\\\"}");
  CHECK(places(root) == "1:1 1:7 1:8 1:13 1:23 1:34 1:52");
  CHECK(!root.find("a")->items[1].quoted);
}

TEST_CASE("law: a JSON text is read as it was written, with any indentation") {
  CHECK(rc::check("random values", [] {
    const nlohmann::ordered_json value = random_json(3);
    const int indent = *rc::gen::inRange(-1, 3);
    RC_ASSERT(written(parsed(value.dump(indent))) == value.dump());
  }));
}

TEST_CASE("edge: broken JSON is told with line, column and caret") {
  CHECK(
      error_in("{\"a\": 1,\n \"b\": }") ==
      "bad.json:2:7: broken JSON: syntax error while parsing value - unexpected '}'; expected '[', '{', or a literal\n"
      "   \"b\": }\n"
      "        ^");
  CHECK(error_in("{\"a\": 1, \"a\": 2}") ==
        "bad.json:1:10: key 'a' is given twice (first in line 1)\n"
        "  {\"a\": 1, \"a\": 2}\n"
        "           ^");
  CHECK(error_in("") ==
        "bad.json:1:1: broken JSON: syntax error while parsing value - unexpected end of input; expected "
        "'[', '{', or a literal");
  CHECK(error_in("{} {}").starts_with("bad.json:1:4: broken JSON: "));
  CHECK(error_in("[1, Infinite]").starts_with("bad.json:1:5: broken JSON: "));
  CHECK(error_in("[\"\xff\"]").starts_with("bad.json:1:3: broken JSON: "));
  CHECK(error_in("{\"a\": tru\x1b]0;\x07}").find('\x1b') == std::string::npos);
}

TEST_CASE("edge: nesting and size have limits") {
  CHECK(error_in(std::string(64, '[') + std::string(64, ']')) == "no error");
  CHECK(error_in(std::string(65, '[')).starts_with("bad.json:1:65: more than 64 lists and mappings inside each other"));
  std::string many = "[0";
  for (int i = 0; i < 100'000; ++i) many += ",0";
  CHECK(error_in(many + "]").find("more than 100000 values") != std::string::npos);
}

}  // namespace hybridkv::test
