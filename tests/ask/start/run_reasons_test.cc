// Why an engine hit, waited and preempted as its log says: each reason where its figures are, and not elsewhere.
#include "ask/start/run_reasons.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "ask/start/doctor.h"
#include "scenarios/read.h"
#include "tests/ask/start/log_of_text.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

/// The start of Qwen3.5-4B under 0.33 with blocks of 528 tokens, in that mode.
std::string start_of_4b(const std::string& mode, const std::string& caching = "True") {
  return "LLM engine (v0.33.0) with config: model='Qwen/Qwen3.5-4B', max_seq_len=8192, tensor_parallel_size=1, "
         "kv_cache_dtype=auto, enable_prefix_caching=" + caching + ", max_num_seqs=64\n"
         "Mamba cache mode is set to '" + mode + "' for this model\n# GPU blocks: 501\n";
}

std::string served_so(const std::string& running, const std::string& waiting, const std::string& usage,
                      const std::string& rest) {
  return "Engine 000: Avg prompt throughput: 1000.0 tokens/s, Avg generation throughput: 24.0 tokens/s, Running: " +
         running + " reqs, Waiting: " + waiting + " reqs, GPU KV cache usage: " + usage + "%" + rest + "\n";
}

DoctorAnswer doctor_of(const std::string& text) {
  return doctor({.log = testing::log_of_text(text), .log_name = "a log", .asked = parse_scenario("{}", "nothing"),
                 .typed = {}});
}

const RunReason* reason(const DoctorAnswer& answer, const std::string& code) {
  const auto found = std::find_if(answer.reasons.begin(), answer.reasons.end(),
                                  [&](const RunReason& one) { return one.code == code; });
  return found == answer.reasons.end() ? nullptr : &*found;
}

bool is_named(const DoctorAnswer& answer, const std::string& text) {
  return std::any_of(answer.contradictions.begin(), answer.contradictions.end(),
                     [&](const std::string& one) { return testing::contains(one, text); });
}

}  // namespace

TEST_CASE("golden: caching that is off, and mode none, are why nothing hits, and nothing more is guessed") {
  const std::string served = served_so("3", "0", "4.0", "");
  const DoctorAnswer off = doctor_of(start_of_4b("none", "False") + served);
  REQUIRE(reason(off, "caching_off"));
  CHECK(testing::contains(reason(off, "caching_off")->text, "(line 1)"));
  CHECK_FALSE(reason(off, "not_repeated"));
  REQUIRE_FALSE(off.more_hits.empty());
  CHECK(off.more_hits.front().what == "prefix caching (mode align)");
  const DoctorAnswer none = doctor_of(start_of_4b("none") + served);
  REQUIRE(reason(none, "mode_none"));
  CHECK_FALSE(reason(none, "match_unit"));
}

TEST_CASE("golden: a block of 528 tokens is the least that hits, and prompts below it are counted") {
  const DoctorAnswer answer = doctor_of(
      start_of_4b("align") + served_so("3", "0", "4.0", ", Prefix cache hit rate: 0.0%") +
      "vllm:request_prompt_tokens_bucket{le=\"500.0\"} 90.0\nvllm:request_prompt_tokens_bucket{le=\"1000.0\"} 95.0\n"
      "vllm:request_prompt_tokens_count{} 100.0\nvllm:request_prompt_tokens_sum{} 20000.0\n");
  REQUIRE(reason(answer, "match_unit"));
  CHECK(testing::contains(reason(answer, "match_unit")->text, "a prompt of 528 tokens or fewer finds nothing"));
  REQUIRE(reason(answer, "short_prompts"));
  CHECK(testing::contains(reason(answer, "short_prompts")->text, "90 of 100 finished requests"));
  REQUIRE(reason(answer, "not_repeated"));
  CHECK_FALSE(reason(answer, "not_repeated")->is_certain);
  CHECK_FALSE(reason(answer, "memory_full"));
  CHECK(answer.contradictions.empty());
}

TEST_CASE("golden: full memory, and who waits for it; else for a place, or perhaps for a step") {
  const DoctorAnswer full =
      doctor_of(start_of_4b("align") + served_so("40", "7", "99.2", ", Prefix cache hit rate: 5.0%"));
  REQUIRE(reason(full, "memory_full"));
  CHECK(testing::contains(reason(full, "memory_full")->text, "about 4 of 500 blocks were left"));
  REQUIRE(reason(full, "waits_for_memory"));
  CHECK_FALSE(reason(full, "not_repeated"));
  const DoctorAnswer places =
      doctor_of(start_of_4b("align") + served_so("64", "7", "70.0", ", Prefix cache hit rate: 5.0%"));
  REQUIRE(reason(places, "waits_for_place"));
  const DoctorAnswer step =
      doctor_of(start_of_4b("align") + served_so("10", "7", "30.0", ", Prefix cache hit rate: 5.0%"));
  REQUIRE(reason(step, "waits_for_step"));
  CHECK_FALSE(reason(step, "waits_for_step")->is_certain);
}

TEST_CASE("golden: what is left free is overwritten in capacity over throughput") {
  const DoctorAnswer answer =
      doctor_of(start_of_4b("align") + served_so("10", "0", "50.0", ", Prefix cache hit rate: 5.0%"));
  const auto tokens = static_cast<double>(answer.explained.plan.capacity.front().kv_cache_tokens) / 2;
  REQUIRE(reason(answer, "overwritten"));
  CHECK(testing::contains(reason(answer, "overwritten")->text,
                          "about " + std::to_string(static_cast<int>(tokens / 1024 + 0.5)) + " s"));
}

TEST_CASE("fault: values that cannot have been are named") {
  const auto served_with = [](const std::string& rest, const std::string& mode = "align") {
    return doctor_of(start_of_4b(mode) + rest);
  };
  CHECK(is_named(served_with(served_so("65", "0", "70.0", "")), "max_num_seqs allows 64 (line 1)"));
  CHECK(is_named(served_with(served_so("5", "0", "70.1", "")), "nearest is 70.2"));
  CHECK(is_named(served_with(served_so("5", "0", "101.0", "")), "it is a share"));
  CHECK(is_named(served_with(served_so("5", "0", "70.0", ", Prefix cache hit rate: 3.0%"), "none"),
                 "hit_rate_percent 3 (line 4) cannot be"));
  CHECK(is_named(served_with("vllm:prefix_cache_hits_total{} 1000.0\n"), "every hit is a multiple of 528 tokens"));
  CHECK(is_named(served_with("vllm:prefix_cache_hits_total{} 1056.0\nvllm:prefix_cache_queries_total{} 1000.0\n"),
                 "only 1,000 were looked up"));
  CHECK(served_with("vllm:prefix_cache_hits_total{} 1056.0\nvllm:prefix_cache_queries_total{} 3000.0\n")
            .contradictions.empty());
  // Hits are too many only beyond what was looked up.
  CHECK(served_with("vllm:prefix_cache_hits_total{} 1056.0\nvllm:prefix_cache_queries_total{} 1056.0\n")
            .contradictions.empty());
  CHECK(served_with(served_so("64", "0", "70.0", ", Prefix cache hit rate: 3.0%")).contradictions.empty());
}
