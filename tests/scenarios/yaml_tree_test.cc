#include "scenarios/yaml_tree.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "scenario_text.h"
#include "tests/scratch_folder.h"

namespace hybridkv::test {

namespace {

YamlNode parsed_tree(std::string_view text) { return parse_yaml(text, {"t.yaml", ".", {}}); }

std::string place_of(const YamlNode& root, std::initializer_list<const char*> keys) {
  const YamlNode* node = &root;
  for (const char* key : keys) node = node->find(key);
  return to_string(node->place);
}

}  // namespace

TEST_CASE("golden: values, kinds and places of a document") {
  const YamlNode root = parsed_tree("a: 1\nb:\n  c: ['x', {d: \"2\"}]\n  é: {ü: ö, e: 3}\nf:\n");
  REQUIRE(root.kind == YamlNode::Kind::mapping);
  CHECK(root.entries.size() == 3);
  CHECK(root.find("a")->text == "1");
  CHECK_FALSE(root.find("a")->quoted);
  CHECK(root.find("x") == nullptr);
  const YamlNode& list = *root.find("b")->find("c");
  REQUIRE(list.kind == YamlNode::Kind::list);
  CHECK(list.items[0].quoted);
  CHECK(list.items[1].find("d")->text == "2");
  CHECK(root.find("f")->kind == YamlNode::Kind::nothing);
  CHECK(place_of(root, {"a"}) == "t.yaml:1:4");
  CHECK(place_of(root, {"b", "c"}) == "t.yaml:3:6");
  CHECK(to_string(root.find("b")->find("c")->key_place) == "t.yaml:3:3");
  CHECK(place_of(root, {"b", "é", "e"}) == "t.yaml:4:16");
  CHECK(place_of(root, {"f"}) == "t.yaml:5:1");
  CHECK(to_string(list.items[1].place) == "t.yaml:3:12");
}

TEST_CASE("edge: lines end in LF or CRLF, the last one perhaps in neither") {
  for (const char* text : {"a: 1\r\nb: x\r\n", "a: 1\nb: x", "a: 1\nb: x\n\n"}) {
    const YamlNode root = parsed_tree(text);
    CHECK(root.find("b")->text == "x");
    CHECK(place_of(root, {"b"}) == "t.yaml:2:4");
    CHECK(root.place.text->lines[1] == "b: x");
  }
}

TEST_CASE("edge: what breaks off in the middle of a character is told behind the last one of its line") {
  // yaml-cpp reads the digits that are missing all the same, and counts them.
  CHECK(error_of([] { parsed_tree("a: \"\\x4"); }) ==
        "t.yaml:1:8: broken YAML: bad character found while scanning hex number\n"
        "  a: \"\\x4\n"
        "         ^");
}

TEST_CASE("edge: an alias is a copy of what it names") {
  const YamlNode root = parsed_tree("a: &v {x: 1}\nb: *v\n");
  CHECK(root.find("b")->find("x")->text == "1");
}

TEST_CASE("edge: aliases of aliases do not make the reader endless") {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k ? ", " : "") + below;
    text += "]\n";
  }
  CHECK(error_of([&] { parsed_tree(text); }).find("more than 100000 values") != std::string::npos);
}

TEST_CASE("edge: aliases do not nest deeper than lists may") {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  CHECK(error_of([&] { parsed_tree(text); }).find("more than 64 lists and mappings inside each other") !=
        std::string::npos);
}

TEST_CASE("edge: an alias of an empty list nests and counts as the list itself does") {
  const auto nested = [](int lists) {
    return "a: &e []\nb: " + std::string(lists, '[') + "*e" + std::string(lists, ']') + "\n";
  };
  CHECK(error_of([&] { parsed_tree(nested(62)); }) == "no error");  // the mapping, 62 lists and the empty one
  CHECK(error_of([&] { parsed_tree(nested(63)); }).find("more than 64 lists and mappings inside each other") !=
        std::string::npos);
  std::string many = "a: &e []\nb: [";
  for (int i = 0; i < 100'000; ++i) many += "*e, ";
  CHECK(error_of([&] { parsed_tree(many + "]\n"); }).find("more than 100000 values") != std::string::npos);
}

TEST_CASE("regression: text after a closed list is refused, where YAML::LoadAll never returns") {
  CHECK(error_of([] { parsed_tree("[1, 2], 3\n"); }).starts_with("t.yaml:1:"));
  CHECK(error_of([] { parsed_tree("{a: 1}, b\n"); }).starts_with("t.yaml:1:"));
  CHECK(error_of([] { parsed_tree("[1] ]\n"); }).starts_with("t.yaml:1:"));
  CHECK(error_of([] { parsed_tree("a: 1\n...\n"); }) == "no error");
}

TEST_CASE("edge: a long list is read, one that is too long refused") {
  const auto list = [](int values) {
    std::string text = "[";
    for (int i = 0; i < values; ++i) text += "1,";
    return text + "]";
  };
  CHECK(parsed_tree(list(1000)).items.size() == 1000);
  CHECK(error_of([&] { parsed_tree(list(100'000)); }) == "t.yaml:1:200000: more than 100000 values");
}

TEST_CASE("edge: deep nesting is refused, not recursed into") {
  CHECK(error_of([&] { parsed_tree(std::string(100'000, '[')); }).starts_with("t.yaml:1:"));
  CHECK(error_of([&] { parsed_tree("a: " + std::string(63, '[') + std::string(63, ']')); }) == "no error");
  CHECK(error_of([&] { parsed_tree("a: " + std::string(70, '[') + std::string(70, ']')); }) ==
        "t.yaml:1:67: more than 64 lists and mappings inside each other\n  a: " +
            std::string(70, '[') + std::string(70, ']') + "\n  " + std::string(66, ' ') + "^");
}

TEST_CASE("edge: a value of a flag has the flag for place") {
  const YamlNode value = parse_flag_value("{x: [1, 2]}", {"--set a={x: [1, 2]}", "", {}});
  CHECK(to_string(value.place) == "--set a={x: [1, 2]}");
  CHECK(to_string(value.find("x")->items[1].place) == "--set a={x: [1, 2]}");
  CHECK(error_of([] { parse_flag_value("{x: 1, x: 2}", {"--set a", "", {}}); }) ==
        "--set a: key 'x' is given twice");
}

TEST_CASE("edge: long and strange texts are shortened and cleaned for messages") {
  CHECK(in_quotes("abc") == "'abc'");
  CHECK(in_quotes("a\nb\x1b") == "'a?b?'");
  CHECK(in_quotes(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(in_quotes(std::string(61, 'x')) == "'" + std::string(60, 'x') + "…'");
  CHECK(in_quotes(std::string(59, 'x') + "é") == "'" + std::string(59, 'x') + "…'");
}

TEST_CASE("edge: files that cannot be read say why") {
  const testing::ScratchFolder folder;
  CHECK(read_text_file(folder.path / "none").problem == "no such file");
  CHECK(read_text_file(folder.path / ".").problem == "is a directory, not a file");
  std::filesystem::create_symlink("loop", folder.path / "loop");
  CHECK(read_text_file(folder.path / "loop").problem == "cannot be read: Too many levels of symbolic links");
  const std::string empty = folder.file("empty", "");
  CHECK(read_text_file(empty).problem == "");
  CHECK(read_text_file(empty).text == "");
  CHECK(read_text_file(folder.file("large", std::string((16 << 20) + 1, '#'))).problem == "is larger than 16 MiB");
}

}  // namespace hybridkv::test
