#include "report/transfer/transfer_layouts.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "scenarios/read.h"

namespace hybridkv {
namespace {

struct Asked {
  TransferQuestion question;
  TransferAnswer answer;
  std::vector<TransferAlternative> rows;
};

Asked asked() {
  ScenarioFile from = load_scenario("qwen3.5-397b");
  apply_override(from, "engine.attention_pack_size=1");
  ScenarioFile to = from;
  apply_override(to, "engine.tensor_parallel=8");
  Asked asked{.question = {.from = read_scenario(from), .to = read_scenario(to)}};
  asked.answer = transfer(asked.question);
  asked.rows = transfer_alternatives(asked.question, asked.answer);
  return asked;
}

TEST_CASE("golden: other layouts in a table that says which saves most") {
  const Asked one = asked();
  const std::string text = render_transfer_layouts(one.answer, one.rows, Format::table);
  CHECK(text.find("*  nhd          1          2,096 to 528       22,320") != std::string::npos);
  CHECK(text.find("3,480 descriptors, 15.6 % of 22,320") != std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(render_transfer_layouts(one.answer, one.rows, Format::json));
  CHECK(json["schema"] == transfer_layouts_schema_id);
  const nlohmann::json& layouts = json["layouts"];
  CHECK(layouts.size() == one.rows.size());
  CHECK(layouts[0]["descriptors"] == 22'320);
  CHECK(layouts[0]["refused"].is_null());
}

TEST_CASE("edge: nothing is said to be fewer where nothing is") {
  Asked one = asked();
  for (TransferAlternative& row : one.rows) row.descriptors = one.answer.counts.all.descriptors;
  CHECK(fewest_text(one.answer, one.rows) == "");
  for (TransferAlternative& row : one.rows) row.refused = "no such layout";
  CHECK(fewest_text(one.answer, one.rows) == "");
  const std::string text = render_transfer_layouts(one.answer, one.rows, Format::table);
  CHECK(text.find("! order nhd, N = 1: no such layout") != std::string::npos);
}

}  // namespace
}  // namespace hybridkv
