#include "report/transfer/transfer_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/transfer/transfer_derivation.h"
#include "scenarios/read.h"
#include "tests/contains.h"

using namespace hybridkv;
using nlohmann::json;

namespace {

using testing::contains;

TransferAnswer transfer_answer(const std::string& to_engine, std::int64_t present = 0) {
  const auto scenario = [](const std::string& engine) {
    return read_scenario(parse_scenario("model: Qwen3.5-0.8B\nengine: {memory: 1 GiB, cache_mode: align, "
                                         "release: vllm-2026-06" + engine +
                                            "}\nlimits: {max_model_len: 4096}\n",
                                        "small.yaml"));
  };
  TransferQuestion question{.from = scenario(""), .to = scenario(to_engine), .present_tokens = present};
  question.options.converts_dtypes = true;
  return transfer(question);
}

}  // namespace

TEST_CASE("golden: both sides, totals, how the runs come about") {
  const std::string text = render_transfer(transfer_answer(", tensor_parallel: 2"), Format::table);
  CAPTURE(text);
  CHECK(contains(text, "Qwen3.5-0.8B: a cache of 4,096 tokens from 1 rank to 2 ranks"));
  CHECK(contains(text, "must move"));
  CHECK(contains(text, "K and V of full_attention, bf16"));
  CHECK(contains(text, "2 of each token, as tokens do not follow each other in one run on both sides: 8,192"));
  CHECK(contains(text, "9: 3 in each step, as steps and sections lie apart"));
  CHECK(contains(text, "Every 1,000 tokens take 24,000.0 descriptors"));
}

TEST_CASE("golden: a tensor is called after its layers, and those that are not of the model itself say so") {
  TransferTensor tensor{.kind = "full_attention", .tensor = "kv", .runs = {}};
  for (const SpecRole own : {SpecRole::attention, SpecRole::window, SpecRole::encoder, SpecRole::state}) {
    tensor.role = own;
    CHECK(tensor_name(tensor) == "K and V of full_attention");
  }
  tensor.role = SpecRole::draft;
  CHECK(tensor_name(tensor) == "K and V of draft full_attention");
  tensor.role = SpecRole::auxiliary;
  CHECK(tensor_name(tensor) == "K and V of auxiliary full_attention");
}

TEST_CASE("golden: why more bytes move than there are, or fewer") {
  const std::string replicas = render_transfer(transfer_answer(", tensor_parallel: 4"), Format::table);
  CAPTURE(replicas);
  CHECK(contains(replicas, "for ranks that keep the same as another one"));
  const std::string converted = render_transfer(transfer_answer(", ssm_dtype: bf16"), Format::table);
  CAPTURE(converted);
  CHECK(contains(converted, "of elements that are converted at the destination"));
  CHECK(contains(converted, "ssm of gdn, fp32 to bf16"));
  const std::string present = render_transfer(transfer_answer("", 1024), Format::table);
  CHECK(contains(present, "4,096 tokens, K and V of the first 1,024 are there already"));
}

TEST_CASE("golden: who was read or modelled says so") {
  CHECK(contains(render_transfer(transfer_answer(", strategy: small_pages"), Format::table), "(modelled)"));
  CHECK(contains(render_transfer(transfer_answer(", strategy: compact_slots"), Format::table), "(read)"));
}

TEST_CASE("golden: what lies beside the blocks and is not counted is said") {
  TransferAnswer answer = transfer_answer("");
  CHECK_FALSE(contains(render_transfer(answer, Format::table), "not counted"));
  answer.to.uncounted_bytes = 23'232;
  CHECK(contains(render_transfer(answer, Format::table), "the 23,232 bytes"));
  CHECK(json::parse(render_transfer(answer, Format::json))["to"]["uncounted_bytes_per_block"] == 23'232);
}

TEST_CASE("law: json has what the tables say, as numbers") {
  const TransferAnswer answer = transfer_answer(", tensor_parallel: 2");
  const json all = json::parse(render_transfer(answer, Format::json));
  CHECK(all["schema"] == transfer_report_schema_id);
  CHECK(all["totals"]["descriptors"] == answer.counts.all.descriptors);
  CHECK(all["totals"]["unique_bytes"] == answer.counts.unique_bytes);
  CHECK(all["tensors"].size() == answer.counts.tensors.size());
  CHECK(all["pairs"].size() == 2);
  CHECK(all["rows"].size() == answer.counts.rows.size());
  CHECK(all["growth"].size() == answer.growth.size());
  CHECK(all["growth_ends"].is_null());
  CHECK(all["from"]["dtypes"]["ssm"] == "fp32");
  CHECK(all["to"]["tensor_parallel"] == 2);
  CHECK(all["runs"].size() == answer.runs.size());
  CHECK(all["rate"]["tokens"] == 1000);
  std::int64_t descriptors = 0;
  for (const json& row : all["rows"]) descriptors += row["descriptors"].get<std::int64_t>();
  CHECK(descriptors == answer.counts.all.descriptors);
}

TEST_CASE("law: csv has a line per pair of ranks and tensor") {
  const TransferAnswer answer = transfer_answer(", tensor_parallel: 2");
  std::istringstream text(render_transfer(answer, Format::csv));
  std::string line;
  REQUIRE(std::getline(text, line));
  CHECK(line == "from_rank,to_rank,role,kind,tensor,from_dtype,to_dtype,bytes,written_bytes,descriptors,"
                "shortest_bytes,longest_bytes");
  std::size_t rows = 0;
  while (std::getline(text, line)) ++rows;
  CHECK(rows == answer.counts.rows.size());
}
