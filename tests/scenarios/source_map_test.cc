#include "scenarios/source_map.h"

#include <doctest/doctest.h>

#include "scenarios/read.h"

namespace hybridkv::test {

namespace {

std::shared_ptr<const SourceText> text_of(std::vector<std::string> lines) {
  return std::make_shared<const SourceText>(SourceText{"f.yaml", ".", std::move(lines)});
}

}  // namespace

TEST_CASE("edge: a place shows file, line, column and a caret under the character") {
  const auto text = text_of({"a: 1", "\tb: 2", "é: ä", std::string(201, 'x'), "c: \x1b[31m",
                             "d: \u202eb"});
  CHECK(std::string(error_at({text, 1, 4}, "m").what()) == "f.yaml:1:4: m\n  a: 1\n     ^");
  CHECK(std::string(error_at({text, 2, 5}, "m").what()) == "f.yaml:2:5: m\n   b: 2\n      ^");
  CHECK(std::string(error_at({text, 3, 4}, "m").what()) == "f.yaml:3:4: m\n  é: ä\n     ^");
  CHECK(std::string(error_at({text, 4, 9}, "m").what()) == "f.yaml:4:9: m");
  CHECK(std::string(error_at({text, 5, 4}, "m").what()) == "f.yaml:5:4: m\n  c:  [31m\n     ^");
  CHECK(std::string(error_at({text, 6, 5}, "m").what()) == "f.yaml:6:5: m\n  d:  b\n      ^");
  CHECK(std::string(error_at({text, 7, 1}, "m").what()) == "f.yaml:7:1: m");
  CHECK(std::string(error_at({text, 0, 0}, "m").what()) == "f.yaml: m");
}

TEST_CASE("golden: every item of a list has a place of its own, the first too") {
  const Scenario scenario = read_scenario(parse_scenario(
      "model: Qwen3.5-0.8B\nengine: {memory: 1 GiB, kernel_block_sizes: [16, 32]}\nlimits: {max_model_len: 4096}\n",
      "list.yaml"));
  const Place& list = *scenario.places.find("engine.kernel_block_sizes");
  const Place& first = *scenario.places.find("engine.kernel_block_sizes[0]");
  const Place& second = *scenario.places.find("engine.kernel_block_sizes[1]");
  CHECK(first.line == 2);
  CHECK(first.column > list.column);
  CHECK(second.column == first.column + 4);
}

TEST_CASE("edge: a path without a place falls back to its nearest parent") {
  const auto text = text_of({});
  SourceMap places;
  CHECK(places.find("engine") == nullptr);
  places.add("", {text, 1, 1});
  places.add("engine", {text, 2, 1});
  places.add("engine.memory", {text, 3, 1});
  places.add("limits.lens[1]", {text, 4, 1});
  CHECK(places.find("engine.memory")->line == 3);
  CHECK(places.find("engine.memory.x[3].y")->line == 3);
  CHECK(places.find("engine.draft.layers")->line == 2);
  CHECK(places.find("engines")->line == 1);
  CHECK(places.find("limits.lens[1]")->line == 4);
  CHECK(places.find("limits.lens[2]")->line == 1);
  CHECK(places.find("")->line == 1);
}

TEST_CASE("edge: an alias stands for everything below it, a place of its own goes first") {
  const auto text = text_of({});
  SourceMap places;
  places.add("", {text, 1, 1});
  places.add("kinds.a", {text, 2, 1});
  places.add("kinds.a.heads", {text, 3, 1});
  places.add("layers", {text, 4, 1});
  places.add_alias("layers[3].attention", "kinds.a");
  CHECK(places.find("layers[3].attention")->line == 2);
  CHECK(places.find("layers[3].attention.heads")->line == 3);
  CHECK(places.find("layers[3].attention.size")->line == 2);
  CHECK(places.find("layers[3].recurrent")->line == 4);
  CHECK(places.find("layers[33].attention")->line == 4);
}

}  // namespace hybridkv::test
