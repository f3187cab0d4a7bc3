// What a plan says of prefixes, in sentences.
#include "report/plan/prefix_sentences.h"

#include <doctest/doctest.h>

#include "tests/contains.h"
#include "tests/report/plan/slots_plan.h"

using namespace hybridkv;
using testing::contains;

TEST_CASE("golden: prompts in slots go on from what these hold, or, beside windows, from behind a window alone") {
  CachePlan plan = testing::slots_plan();
  const std::string whole = prefix_sentences(plan).front();
  CAPTURE(whole);
  CHECK(whole.starts_with("A prompt goes on in a slot whose last sequence it continues, else from a checkpoint "));
  // The last checkpoint of a prompt lies four tokens before its end.
  CHECK(contains(whole, " a second copy of a prompt of n tokens hits n - 4 tokens, "));
  plan.rows->window_tokens = 128;
  const std::string windowed = prefix_sentences(plan).front();
  CAPTURE(windowed);
  CHECK(windowed.starts_with("A prompt goes on from a checkpoint of its slot "));
  CHECK(contains(windowed, " more than the window of 128 tokens before the end of what both share"));
}

namespace {

/// The last sentence but those of branches: what a copy hits.
std::string of_copies(const std::string& engine, std::int64_t length = 4096) {
  const CachePlan plan = plan_pack(
      read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {memory: 4 GiB, cache_mode: align, " + engine +
                                       "}\nlimits: {max_model_len: " + std::to_string(length) + "}\n",
                                   "prefixes.yaml")),
      0);
  for (const std::string& sentence : prefix_sentences(plan))
    if (contains(sentence, "second copy")) return sentence;
  return {};
}

std::string of_snapshots(const std::string& keys) {
  return of_copies("release: tensorrt-llm, max_batch_size: 4, " + keys);
}

}  // namespace

TEST_CASE("golden: what a copy hits behind snapshots is a formula where all are kept and found, else an example") {
  CHECK(contains(of_snapshots("periodic_snapshot_interval: 512"), " floor((n - 1) / 512) * 512 tokens: nothing up to"));
  CHECK(contains(of_snapshots("additional_snapshot_offsets_from_end: [0, 32]"), " max(0, n - 32) tokens: "));
  CHECK(contains(of_snapshots("additional_snapshot_offsets_from_end: [0]"), " hits nothing: "));
  CHECK(contains(of_snapshots("enable_branch_snapshot: true"), " hits nothing: "));
  // Every block of 32 keeps one of its snapshots: of 4,096 tokens the last one lies at 4,090, where none is before it.
  CHECK(contains(of_snapshots("periodic_snapshot_interval: 10"), ": 4,090 of 4,096 tokens, nothing up to 10."));
  CHECK(contains(of_snapshots("additional_snapshot_offsets_from_end: [0, 5]"), ": 0 of 4,096 tokens, "));
  CHECK(contains(of_snapshots("additional_snapshot_offsets_from_start: [100]"), ": 100 of 4,096 tokens, "));
  // The last of multiples of 47 lies at 4,089, to which whole blocks reach up to 4,064 alone.
  const std::string whole = "enable_partial_reuse: false, periodic_snapshot_interval: ";
  CHECK(contains(of_snapshots(whole + "100"), ": 4,000 of 4,096 tokens, "));
  CHECK(contains(of_snapshots(whole + "47"), ": 4,042 of 4,096 tokens, "));
  CHECK(contains(of_snapshots(whole + "64"), " floor((n - 1) / 64) * 64 tokens: "));
}

TEST_CASE("golden: behind a drafter a copy hits what is left of its own end") {
  const std::string drafts = ", mtp_layers: 1, speculative_tokens: 2, attention_pack_size: 1";
  CHECK(contains(of_copies("release: vllm-0.33" + drafts),
                 " floor((n - 1) / 576) * 576 tokens: nothing up to n = 576."));
  CHECK(contains(of_copies("release: vllm-0.33, mtp_layers: 2, speculative_tokens: 3"),
                 " max(0, floor((n - 3) / 576)) * 576 tokens: nothing up to n = 578."));
  CHECK(contains(of_copies("release: vllm-0.32" + drafts),
                 " max(0, floor(n / 544) - 1) * 544 tokens: nothing up to n = 1,087."));
}
