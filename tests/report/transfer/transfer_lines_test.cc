#include "report/transfer/transfer_lines.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/json_text.h"
#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/report/golden.h"
#include "tests/report/json_schema.h"

using namespace hybridkv;
using hybridkv::testing::schema_violations;
using nlohmann::json;
using Lines = std::vector<std::string>;

namespace {

const json& line_schema() {
  static const json schema = json::parse(std::ifstream(HYBRIDKV_SOURCE_DIR "/report/transfer.schema.json"));
  return schema;
}

Scenario scenario_of(const std::string& engine) {
  return read_scenario(parse_scenario("model: Qwen3.5-0.8B\nengine: {memory: 1 GiB, cache_mode: align" + engine +
                                          "}\nlimits: {max_model_len: 4096}\n",
                                      "small.yaml"));
}

TransferAnswer answer_of(const std::string& from_engine, const std::string& to_engine) {
  TransferQuestion question{.from = scenario_of(from_engine), .to = scenario_of(to_engine), .tokens = 150};
  question.options = {.converts_dtypes = true, .exchanges_axes = true};
  return transfer(question);
}

Lines lines_of(const TransferAnswer& answer) {
  std::string text;
  write_transfer_lines(answer, [&](std::string_view piece) {
    CHECK(piece.ends_with('\n'));
    text += piece;
    return true;
  });
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The second line of a good list with one value replaced.
Lines line_violations(const char* key, const json& value) {
  json line = json::parse(lines_of(answer_of("", ", tensor_parallel: 2"))[1]);
  line[key] = value;
  return schema_violations(line_schema(), line);
}

}  // namespace

TEST_CASE("law: every line meets the published schema, and the lines are the list") {
  const char* const pairs[][2] = {{"", ", tensor_parallel: 2"},
                                  {", tensor_parallel: 2", ", ssm_dtype: bf16"},
                                  {", release: vllm-0.33", ", release: sglang-0.5.23"},
                                  {", release: vllm-0.33, pipeline_parallel: 2", ", strategy: small_pages"}};
  for (const auto& [from, to] : pairs) {
    CAPTURE(from);
    CAPTURE(to);
    const TransferAnswer answer = answer_of(from, to);
    const Lines lines = lines_of(answer);
    REQUIRE(std::ssize(lines) == answer.list.descriptors() + 1);
    CHECK(begins_transfer_lines(lines[0]));
    const json header = json::parse(lines[0]);
    CHECK(schema_violations(line_schema(), header) == Lines{});
    CHECK(header["descriptors"] == answer.list.descriptors());
    CHECK(header["unique_bytes"] == answer.list.unique_bytes());
    CHECK(header["to"]["ids"].size() == answer.map->to().stages.size());
    std::size_t next = 1;
    std::int64_t bytes = 0, written = 0;
    bool are_same = true;
    for (const RankCopies& pair : answer.list.pairs)
      for (const Copy& copy : pair.copies) {
        const json line = json::parse(lines[next++]);
        if (next % 97 == 2) CHECK(schema_violations(line_schema(), line) == Lines{});
        const Content& content = answer.list.contents[static_cast<std::size_t>(copy.content)];
        const json expected{{"from_rank", pair.from_rank}, {"from_pool", copy.from_pool}, {"from", copy.from},
                            {"to_rank", pair.to_rank},     {"to_pool", copy.to_pool},     {"to", copy.to},
                            {"layer", content.layer},      {"tensor", content.tensor}};
        for (const auto& item : expected.items()) are_same = are_same && line[item.key()] == item.value();
        are_same = are_same && header["contents"][line["content"].get<std::size_t>()]["layer"] == content.layer;
        bytes += line["bytes"].get<std::int64_t>();
        written += line.value("to_bytes", line["bytes"].get<std::int64_t>());
      }
    CHECK(are_same);
    CHECK(header["bytes"] == bytes);
    CHECK(header["written_bytes"] == written);
  }
}

TEST_CASE("fault: the schema refuses what is no descriptor") {
  CHECK(line_violations("from", 0) == Lines{});
  CHECK(line_violations("to_bytes", 5) == Lines{});
  CHECK(!line_violations("bytes", 0).empty());
  CHECK(!line_violations("from", -1).empty());
  CHECK(!line_violations("to_rank", "0").empty());
  CHECK(!line_violations("colour", "red").empty());
  const json line = json::parse(lines_of(answer_of("", ", tensor_parallel: 2"))[1]);
  for (const auto& item : line.items()) {
    if (item.key() == "to_bytes") continue;
    json without = line;
    without.erase(item.key());
    CAPTURE(item.key());
    CHECK(!schema_violations(line_schema(), without).empty());
  }
}

TEST_CASE("golden: the published schema is the one that the fields of a line make") {
  CHECK(testing::is_generated("report/transfer.schema.json", json_text(transfer_schema())));
}

TEST_CASE("law: the schema lists every name the code can write") {
  const auto lists = [](const char* pointer, std::string_view name) {
    const json& names = line_schema().at(json::json_pointer(pointer));
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& role : names_of(spec_role_names))
    CHECK(lists("/$defs/content/properties/role/enum", role));
  for (const std::string& evidence : names_of(evidence_names))
    CHECK(lists("/$defs/side/properties/evidence/enum", evidence));
  CHECK(lists("/$defs/header/properties/schema/enum", transfer_schema_id));
}

TEST_CASE("edge: nobody who reads any more is written to; what begins otherwise is no list") {
  const TransferAnswer answer = answer_of("", ", tensor_parallel: 2");
  int pieces = 0;
  write_transfer_lines(answer, [&](std::string_view) { return ++pieces < 2; });
  CHECK(pieces == 2);
  CHECK(!begins_transfer_lines(""));
  CHECK(!begins_transfer_lines("{\"schema\":\"hybridkv-plan/1\""));
  CHECK(!begins_transfer_lines("my notes"));
}
