#include "ask/transfer/transfer_alternatives.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <variant>

#include "ask/replay/offload.h"
#include "scenarios/read.h"

namespace hybridkv {
namespace {

TransferQuestion question_of(const std::vector<std::string>& both, const std::vector<std::string>& to) {
  ScenarioFile from = load_scenario("qwen3.5-397b");
  for (const std::string& assignment : both) apply_override(from, assignment);
  ScenarioFile other = from;
  for (const std::string& assignment : to) apply_override(other, assignment);
  return {.from = read_scenario(from), .to = read_scenario(other)};
}

const TransferAlternative& row_of(const std::vector<TransferAlternative>& rows, const std::string& order,
                                  std::int64_t pack, bool equal_blocks) {
  for (const TransferAlternative& row : rows)
    if (row.order == order && row.pack == pack && row.equal_blocks == equal_blocks && !row.turns_conv) return row;
  FAIL("no such row");
  return rows.front();
}

TEST_CASE("golden: Qwen3.5-397B from TP2 to TP8: equal blocks save more than any order") {
  const TransferQuestion question =
      question_of({"engine.attention_pack_size=1"}, {"engine.tensor_parallel=8"});
  const TransferAnswer answer = transfer(question);
  std::vector<int> done;
  const std::vector<TransferAlternative> rows = transfer_alternatives(question, answer, [&](int so_far, int total) {
    done.push_back(so_far);
    CHECK(total == 3 * 4 * 2 + 1);
  });
  CHECK(rows.size() == 3 * 4 * 2 + 1);
  REQUIRE(done.size() == 3 * 4 * 2);
  for (std::size_t i = 0; i < done.size(); ++i) CHECK(done[i] == static_cast<int>(i));
  const TransferAlternative& asked = row_of(rows, "nhd", 1, false);
  CHECK(asked.is_current);
  CHECK(asked.descriptors == answer.counts.all.descriptors);
  CHECK(asked.from_block_tokens == 2096);
  CHECK(asked.to_block_tokens == 528);
  const TransferAlternative& packed = row_of(rows, "head_major", 15, true);
  CHECK(packed.to_block_tokens == 144);
  CHECK(packed.block_runs == 1);
  CHECK(packed.checkpoint_runs == 1);
  // On eight ranks 228 blocks of all layers, nine runs of each convolution and one of each recurrent state, less what
  // joins where a section of the last rank ends.
  CHECK(packed.descriptors == 5656);
  for (const TransferAlternative& row : rows) {
    CHECK(row.refused == "");
    CHECK(row.moved_bytes == answer.counts.all.bytes);
  }
  const auto best = fewest_descriptors(rows, answer);
  REQUIRE(best.has_value());
  CHECK(rows[*best].turns_conv);
  CHECK(rows[*best].equal_blocks);
  CHECK(rows[*best].order == "nhd");  // no order is better: the one that is there
  CHECK(rows[*best].descriptors == 3480);
}

TEST_CASE("golden: what is kept as a prefix has to end where the destination looks for one") {
  TransferQuestion question = question_of({"engine.attention_pack_size=1"}, {"engine.tensor_parallel=8"});
  question.as_prefix = true;
  question.tokens = 5280;
  CHECK(transfer(question).as_prefix);
  question.tokens = 5000;
  CHECK_THROWS_WITH_AS(transfer(question), doctest::Contains("multiples of 528"), InputError);
}

TEST_CASE("golden: six orders of one allocation, of which layers that differ have four") {
  const TransferQuestion question =
      question_of({"engine.attention_pack_size=1", "engine.release=vllm-0.33"}, {"engine.tensor_parallel=8"});
  const std::vector<TransferAlternative> rows = transfer_alternatives(question, transfer(question));
  int refused = 0;
  for (const TransferAlternative& row : rows) refused += !row.refused.empty();
  CHECK(refused == 2);
  CHECK(row_of(rows, "LBNHC", 0, false).is_current);
  CHECK(row_of(rows, "LBNHC", 0, false).block_runs == 15);
  CHECK(row_of(rows, "BLNHC", 0, false).block_runs == 1);
}

TEST_CASE("edge: a convolution state of one step lies alike both ways, and no row turns it") {
  TransferQuestion question = question_of({"engine.attention_pack_size=1"}, {"engine.tensor_parallel=8"});
  question.tokens = 4096;
  const auto is_turned = [&] {
    const TransferAnswer answer = transfer(question);
    const std::vector<TransferAlternative> rows = transfer_alternatives(question, answer);
    REQUIRE(fewest_descriptors(rows, answer).has_value());
    return std::any_of(rows.begin(), rows.end(), [](const TransferAlternative& row) { return row.turns_conv; });
  };
  CHECK(is_turned());
  // Of two taps the state keeps the channels of one step; of the four that the model has, three.
  for (Scenario* const side : {&question.from, &question.to})
    for (LayerSpec& layer : side->model.layers)
      if (layer.recurrent) std::get<GdnSpec>(*layer.recurrent).conv_kernel = 2;
  CHECK_FALSE(is_turned());
}

TEST_CASE("golden: what a host tier copies: groups that are alike stand once") {
  const TransferQuestion question = question_of({"engine.attention_pack_size=15"}, {});
  const std::vector<OffloadEntry> entries = offload_entries(transfer(question).map->to());
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].kind == "gdn");
  CHECK(entries[0].groups == 45);
  CHECK(entries[0].layers == 1);
  CHECK(entries[0].tokens == 0);
  CHECK(entries[1].kind == "full_attention");
  CHECK(entries[1].tokens == 144);
  CHECK(entries[1].runs.content_runs == 1);
  CHECK(entries[1].runs.content_bytes == 144 * 15 * 1024);
}

}  // namespace
}  // namespace hybridkv
