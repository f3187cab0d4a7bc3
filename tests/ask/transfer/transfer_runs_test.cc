#include "ask/transfer/transfer_runs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ask/transfer/transfer.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using hybridkv::testing::small_scenario;

namespace {

TransferAnswer transfer_answer(std::string_view from_engine, std::string_view to_engine, std::int64_t tokens = 4096) {
  return transfer({.from = small_scenario(from_engine),
                   .to = small_scenario(to_engine),
                   .tokens = tokens,
                   .options = {.exchanges_axes = true}});
}

const RunDerivation& derivation_of(const TransferAnswer& answer, std::string_view tensor) {
  for (const RunDerivation& derivation : answer.runs)
    if (answer.counts.tensors[derivation.tensor].tensor == tensor) return derivation;
  throw std::logic_error("no such tensor");
}

}  // namespace

TEST_CASE("golden: tokens of one head of two do not follow each other in nhd") {
  const TransferAnswer answer = transfer_answer("", "  tensor_parallel: 2\n");
  const RunDerivation& kv = derivation_of(answer, "kv");
  CHECK(kv.layer == 3);
  REQUIRE(kv.tokens.has_value());
  CHECK(kv.tokens->tokens == 4096);
  CHECK(kv.tokens->heads == 1);
  CHECK(kv.tokens->from_heads == 2);
  CHECK(kv.tokens->to_heads == 1);
  CHECK(!kv.tokens->tokens_follow);
  CHECK(kv.tokens->runs_per_token == 2);
  CHECK(kv.runs == 2 * 4096);
  CHECK(kv.layers == 6);
  CHECK(kv.descriptors == 6 * kv.runs);
}

TEST_CASE("golden: in hnd they do, cut by the blocks of both sides") {
  const TransferAnswer answer = transfer_answer("  physical_order: hnd\n", "  tensor_parallel: 2\n");
  const RunDerivation& kv = derivation_of(answer, "kv");
  REQUIRE(kv.tokens.has_value());
  const TokenRuns& tokens = *kv.tokens;
  CHECK(tokens.tokens_follow);
  // Blocks of 544 and 560 tokens: ends of either side cut, those in common once.
  std::int64_t cuts = 0;
  for (std::int64_t token = 0; token < 4096; ++token)
    cuts += token % tokens.from_block_tokens == 0 || token % tokens.to_block_tokens == 0;
  CHECK(tokens.stretches == cuts);
  CHECK(tokens.from_blocks == (4095 / tokens.from_block_tokens) + 1);
  CHECK(kv.runs == 2 * cuts);
}

TEST_CASE("golden: a convolution state is read in as many runs as steps and sections") {
  const TransferAnswer answer = transfer_answer("", "  tensor_parallel: 2\n");
  const RunDerivation& conv = derivation_of(answer, "conv");
  REQUIRE(conv.state.has_value());
  CHECK(conv.state->steps == 3);
  REQUIRE(conv.state->parts.size() == 3);
  CHECK(conv.state->parts[0].name == "q");
  CHECK(conv.state->parts[0].parts == 8);
  CHECK(conv.state->parts[0].elements == 128);
  CHECK(conv.runs == 9);
  CHECK(conv.descriptors == 9 * conv.layers);
  const RunDerivation& ssm = derivation_of(answer, "ssm");
  CHECK(ssm.runs == 1);
  CHECK(ssm.state->steps == 0);
}

TEST_CASE("law: runs that follow each other are joined, so a list never has more") {
  const char* const engines[] = {"",
                                 "  tensor_parallel: 2\n",
                                 "  physical_order: hnd\n",
                                 "  attention_pack_size: 3\n  physical_order: head_major\n",
                                 "  attention_pack_size: 2\n  tensor_parallel: 2\n",
                                 "  release: vllm-0.33\n",
                                 "  release: sglang-0.5.23\n",
                                 "  strategy: small_pages\n",
                                 "  strategy: compact_slots\n"};
  for (const char* const from : engines)
    for (const char* const to : engines) {
      CAPTURE(from);
      CAPTURE(to);
      const TransferAnswer answer = transfer_answer(from, to, 1500);
      for (const RunDerivation& derivation : answer.runs) {
        CHECK(derivation.runs > 0);
        CHECK(derivation.descriptors <= derivation.runs_of_layers);
        CHECK(derivation.tokens.has_value() != derivation.state.has_value());
        if (!derivation.tokens) continue;
        const TokenRuns& tokens = *derivation.tokens;
        std::int64_t runs = 0, stretches = 0;
        for (const auto& [each, count] : tokens.stretches_by_runs) {
          runs += each * count;
          stretches += count;
        }
        CHECK(derivation.runs == (tokens.tokens_follow ? runs : tokens.tokens * tokens.runs_per_token));
        CHECK(stretches == (tokens.tokens_follow ? tokens.stretches : 0));
      }
      // Every run of the list is explained where nothing is joined.
      for (const TransferPairTensor& row : answer.counts.rows)
        for (const RunDerivation& derivation : answer.runs)
          if (row.tensor == derivation.tensor && row.from_rank == derivation.from_rank &&
              row.to_rank == derivation.to_rank)
            CHECK(row.runs.descriptors == derivation.descriptors);
    }
}

TEST_CASE("golden: heads outermost: the layers of a pack follow each other in one run") {
  const TransferAnswer answer = transfer_answer("  attention_pack_size: 3\n  physical_order: head_major\n",
                                          "  attention_pack_size: 3\n  physical_order: head_major\n");
  const RunDerivation& kv = derivation_of(answer, "kv");
  CHECK(kv.descriptors * 3 <= kv.runs_of_layers);
}

TEST_CASE("golden: of stages a tensor is explained by the first rank that has it, with the copies of that rank") {
  // 24 layers on eight ranks: the first three have states alone, and K and V begin with layer 3 on the second rank.
  const TransferAnswer answer =
      transfer_answer("  release: vllm-0.33\n  pipeline_parallel: 8\n", "  release: vllm-0.33\n", 1500);
  const RunDerivation& kv = derivation_of(answer, "kv");
  CHECK(kv.from_rank == 1);
  CHECK(kv.to_rank == 0);
  CHECK(kv.layer == 3);
  CHECK(kv.layers == 1);
  // 1,500 tokens in three blocks of 576.
  CHECK(kv.runs == 3);
  CHECK(kv.descriptors == 3);
}
