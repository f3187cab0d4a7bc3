#include "ask/transfer/transfer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/ask/asked.h"
#include "tests/contains.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using hybridkv::testing::ScratchFolder;
using hybridkv::testing::small_scenario;

namespace {

using testing::contains;

/// From one rank to as many as the flags say.
TransferQuestion question_of(std::string_view to_engine, std::string_view from_engine = "") {
  return {.from = small_scenario(from_engine), .to = small_scenario(to_engine)};
}

std::string refusal_of(const TransferQuestion& question) {
  try {
    transfer(question);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("golden: one rank to two: each reads its head, its channels and its heads of states") {
  TransferQuestion question = question_of("  tensor_parallel: 2\n");
  const TransferAnswer answer = transfer(question);
  CHECK(answer.model == "Qwen3.5-0.8B");
  CHECK(answer.request.tokens == 4096);
  CHECK(answer.map->from().num_ranks() == 1);
  CHECK(answer.map->to().num_ranks() == 2);
  REQUIRE(answer.counts.pairs.size() == 2);
  CHECK(answer.counts.pairs[0].runs == answer.counts.pairs[1].runs);
  CHECK(answer.counts.replica_bytes() == 0);
  CHECK(answer.counts.all.bytes == answer.counts.unique_bytes);
  CHECK(answer.from.evidence == Evidence::run);
  CHECK(answer.to.tensor_parallel == 2);
  CHECK(answer.from.dtypes.front().first == "kv");
  // 2 heads in nhd: each token's head is a run of its own, K and V apart, in 6 layers, for each of two ranks.
  const auto kv = std::find_if(answer.counts.tensors.begin(), answer.counts.tensors.end(),
                               [](const TransferTensor& tensor) { return tensor.tensor == "kv"; });
  REQUIRE(kv != answer.counts.tensors.end());
  CHECK(kv->layers == 6);
  CHECK(kv->runs.descriptors == 4096 * 2 * 6 * 2);
  CHECK(kv->runs.longest == 256 * 2);
}

TEST_CASE("law: every tensor moves what it must, also where a run joins several: conv and ssm of one page") {
  for (const char* const to : {"", "  tensor_parallel: 2\n", "  strategy: dual_pool\n"}) {
    const TransferAnswer answer = transfer(question_of(to));
    REQUIRE(answer.counts.replica_bytes() == 0);
    for (const TransferTensor& tensor : answer.counts.tensors) {
      CAPTURE(to);
      CAPTURE(tensor.tensor);
      CHECK(tensor.runs.bytes == tensor.unique_bytes);
    }
  }
}

TEST_CASE("law: what is there already is not moved, states are") {
  TransferQuestion question = question_of("  tensor_parallel: 2\n");
  const TransferAnswer all = transfer(question);
  question.present_tokens = 1024;
  const TransferAnswer rest = transfer(question);
  CHECK(rest.counts.of_states() == all.counts.of_states());
  CHECK(4 * rest.counts.of_tokens().bytes == 3 * all.counts.of_tokens().bytes);
  question.present_tokens = 4096;
  CHECK(transfer(question).counts.of_tokens().descriptors == 0);
}

TEST_CASE("law: growth is that of transfers of those lengths") {
  TransferQuestion question = question_of("  tensor_parallel: 2\n", "  physical_order: hnd\n");
  question.tokens = 2048;
  const TransferAnswer answer = transfer(question);
  REQUIRE(answer.growth.size() == 4);
  CHECK(answer.growth_ends.empty());
  for (const TransferGrowth& row : answer.growth) {
    CAPTURE(row.tokens);
    question.tokens = row.tokens;
    const TransferAnswer alone = transfer(question);
    CHECK(row.runs == alone.counts.all);
    CHECK(row.unique_bytes == alone.counts.unique_bytes);
    CHECK(row.of_states == answer.counts.of_states());
  }
  REQUIRE(answer.rate.has_value());
  const TransferGrowth &half = answer.growth[1], &all = answer.growth[2];
  CHECK(answer.rate->bytes == doctest::Approx(1000.0 * static_cast<double>(all.runs.bytes - half.runs.bytes) / 1024));
}

TEST_CASE("edge: growth ends where the pools end, and has no rate where half of it moves nothing") {
  TransferQuestion question = question_of("  num_blocks: 15\n");
  const TransferAnswer answer = transfer(question);
  CHECK(answer.growth.back().tokens == 4096);
  CHECK(contains(answer.growth_ends, "8192 tokens do not fit"));
  question.tokens = 4000;
  question.present_tokens = 2000;
  CHECK(!transfer(question).rate.has_value());
  question.tokens = 1;
  question.present_tokens = 0;
  CHECK(transfer(question).growth.front().tokens == 1);
}

TEST_CASE("law: ids that are given are those of the request; growth is that of made ones") {
  TransferQuestion question = question_of("");
  question.tokens = 1000;
  const TransferAnswer made = transfer(question);
  question.ids = IdOrder::consecutive;
  question.from_ids = GivenIds{made.request.from, "ids of the source"};
  const TransferAnswer given = transfer(question);
  CHECK(given.request.from.ids == made.request.from.ids);
  CHECK(given.ids_are_given);
  CHECK(given.request.to.ids != made.request.to.ids);
  question.from_ids.reset();
  const TransferAnswer consecutive = transfer(question);
  REQUIRE(given.growth.size() == consecutive.growth.size());
  for (std::size_t i = 0; i < given.growth.size(); ++i) CHECK(given.growth[i].runs == consecutive.growth[i].runs);
  question.from_ids = GivenIds{{{{{0}, {1}}}}, "ids of the source"};
  CHECK(contains(refusal_of(question), "ids of the source: "));
}

TEST_CASE("fault: refusals name the side, the key and the place") {
  TransferQuestion question = question_of("  tensor_parallel: 2\n");
  question.tokens = 8192;
  CHECK(contains(refusal_of(question), "from.limits.max_model_len: requests have up to 4,096 tokens, and 8,192 are"));
  CHECK(contains(refusal_of(question), "small.yaml:"));
  question.tokens = 0;
  CHECK(contains(refusal_of(question), "--tokens 0"));
  question.tokens = 100;
  question.present_tokens = 101;
  CHECK(contains(refusal_of(question), "--present 101: of 100 tokens"));
  CHECK(contains(refusal_of(question_of("  kv_dtype: fp8\n")), "small.yaml:5:13: to.engine.kv_dtype: "));
  CHECK(contains(refusal_of(question_of("  ssm_dtype: bf16\n")), "to.engine.ssm_dtype: "));
  CHECK(contains(refusal_of(question_of("", "  tensor_parallel: 3\n")), "from."));
  CHECK(contains(refusal_of(question_of("  tensor_parallel: 3\n")), "small.yaml:5:20: to."));
  // What both refuse is said of the source.
  CHECK(contains(refusal_of(question_of("  tensor_parallel: 3\n", "  tensor_parallel: 3\n")), "20: from.engine."));
  CHECK(contains(refusal_of(question_of("  num_blocks: 3\n")), "small.yaml:5:15: to.engine.num_blocks: a request of"));
}

TEST_CASE("regression: of two faults of a side that one is told which its plan tells first") {
  // Without attention there is nothing for MTP layers to join, which was told before what is wrong with the engine.
  TransferQuestion question =
      question_of("", "  release: vllm-0.33\n  attention_pack_size: 2\n  pipeline_parallel: 2\n  mtp_layers: 1\n");
  for (ModelSpec* const model : {&question.from.model, &question.to.model}) {
    model->mtp.reset();
    std::erase_if(model->layers, [](const LayerSpec& layer) { return layer.attention.has_value(); });
  }
  CHECK(contains(refusal_of(question), "from.engine.pipeline_parallel: is 2, but 2 layers a page are planned on one"));
}

TEST_CASE("fault: sides of two models are refused with both names") {
  TransferQuestion question = question_of("");
  question.to.model.name = "other";
  const std::string other = refusal_of(question);
  CHECK(contains(other, "to.model: is other, and the model of small is Qwen3.5-0.8B"));
  question = question_of("");
  question.to.model.layers.pop_back();
  CHECK(contains(refusal_of(question), "is called Qwen3.5-0.8B as the model of small, but keeps other caches"));
}

TEST_CASE("rule: a conversion that was asked for is counted") {
  TransferQuestion question = question_of("  ssm_dtype: bf16\n");
  question.options.converts_dtypes = true;
  const TransferAnswer answer = transfer(question);
  const auto ssm = std::find_if(answer.counts.tensors.begin(), answer.counts.tensors.end(),
                                [](const TransferTensor& tensor) { return tensor.tensor == "ssm"; });
  REQUIRE(ssm != answer.counts.tensors.end());
  CHECK(ssm->runs.bytes == 2 * ssm->runs.written_bytes);
  CHECK(ssm->unique_bytes == ssm->runs.written_bytes);
}
