// Starts that failed: which check stopped them, whether its numbers can be, and what starts instead.
#include "ask/start/start_failure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/read.h"
#include "test_paths.h"
#include "tests/ask/start/log_of_text.h"
#include "tests/contains.h"

using namespace hybridkv;

namespace {

std::string failed_sample() {
  std::ifstream in(HYBRIDKV_SOURCE_DIR "/docs/samples/failed.txt");
  REQUIRE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string with_text(std::string text, const std::string& old, const std::string& other) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), other);
}

DoctorAnswer failure_of(const std::string& text) {
  return doctor({.log = testing::log_of_text(text), .log_name = "a log", .asked = parse_scenario("{}", "nothing"),
                 .typed = {}});
}

bool has_contradiction(const DoctorAnswer& answer, const std::string& text) {
  return std::any_of(answer.contradictions.begin(), answer.contradictions.end(),
                     [&](const std::string& one) { return testing::contains(one, text); });
}

const std::string start_of_9b = "LLM engine (v0.33.0) with config: model='Qwen/Qwen3.5-9B', max_seq_len=32768, "
                                "tensor_parallel_size=1, enable_prefix_caching=True\n";

}  // namespace

TEST_CASE("golden: a request that is too long: needed, checked and estimated are explained, and lengths that start") {
  const DoctorAnswer answer = failure_of(failed_sample());
  REQUIRE(answer.failure);
  CHECK(answer.failure->code == "longest_request");
  CHECK(answer.failure->line == 14);
  CHECK(testing::contains(answer.failure->text, "134 blocks of 32,440,320 bytes, 4.05 GiB, and there are 99"));
  CHECK(answer.explained.is_complete());
  CHECK(answer.explained.figures.size() == 6);
  CHECK(answer.contradictions.empty());
  REQUIRE(answer.failure->tries.size() == 2);
  CHECK(testing::contains(answer.failure->tries[0].command, "--available-memory 3.0 "));
  CHECK(testing::contains(answer.failure->tries[0].command, "--max-model-len 187968"));
  CHECK(testing::contains(answer.failure->tries[1].command, "--kv-dtype fp8_e4m3"));
  CHECK(testing::contains(answer.failure->tries[1].command, "--max-model-len 262144"));  // as long as asked for
}

TEST_CASE("fault: each number of the failure that was changed is named") {
  for (const auto& [old, other, key] : {std::array<const char*, 3>{"(4.05 GiB", "(4.15 GiB", "needed_memory_gib 4.15"},
                                        {"(2.97 GiB)", "(2.77 GiB)", "checked_memory_gib 2.77"},
                                        {"length is 187968", "length is 187969", "estimated_max_model_len 187969"}}) {
    CAPTURE(key);
    const DoctorAnswer answer = failure_of(with_text(failed_sample(), old, other));
    CHECK_FALSE(answer.explained.is_complete());
    CHECK(has_contradiction(answer, key));
  }
}

TEST_CASE("golden: too many running requests, and what the check cannot have said") {
  const std::string failed = start_of_9b +
                             "Available KV cache memory: 3.0 GiB\n"
                             "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (%). Each decode\n";
  const std::int64_t blocks = *failure_of(start_of_9b + "Available KV cache memory: 3.0 GiB\n").explained.num_blocks;
  const DoctorAnswer answer = failure_of(with_text(failed, "%", std::to_string(blocks)));
  REQUIRE(answer.failure);
  CHECK(answer.failure->code == "running_requests");
  REQUIRE_FALSE(answer.failure->tries.empty());
  CHECK(testing::contains(answer.failure->tries[0].command, "--max-num-seqs "));
  CHECK(answer.contradictions.empty());
  CHECK(has_contradiction(failure_of(with_text(with_text(failed, "%", std::to_string(blocks)), "(1024)", "(7)")),
                          "and it does not"));
}

TEST_CASE("golden: memory that others hold, with the share that would do, and a product that is none") {
  const std::string failed =
      start_of_9b + "ValueError: Free memory on device cuda:0 (30.25/79.11 GiB) on startup is less than desired GPU "
                    "memory utilization (0.92, 72.78 GiB). Decrease GPU memory utilization or reduce\n";
  const DoctorAnswer answer = failure_of(failed);
  REQUIRE(answer.failure);
  CHECK(answer.failure->code == "free_memory");
  CHECK(testing::contains(answer.failure->text, "something else holds 48.86 GiB"));
  CHECK(testing::contains(answer.failure->text, "--gpu-memory-utilization 0.38"));
  CHECK(answer.contradictions.empty());
  CHECK(has_contradiction(failure_of(with_text(failed, "72.78", "71.78")), "wanted_memory_gib 71.78 cannot be"));
  CHECK(has_contradiction(failure_of(with_text(failed, "(30.25/", "(75.25/")), "and they are not"));
}

TEST_CASE("edge: a product that is off by the last digit can be, as both sizes are rounded") {
  const auto failed = [](const std::string& total) {
    return failure_of(start_of_9b + "ValueError: Free memory on device cuda:0 (0.00/" + total +
                      " GiB) on startup is less than desired GPU memory utilization (1.0, 0.01 GiB). Decrease\n");
  };
  // Sizes so small that the difference is the last digit exactly: no rounding of binary fractions decides.
  CHECK(failed("0.02").contradictions.empty());
  CHECK(has_contradiction(failed("0.03"), "wanted_memory_gib 0.01 cannot be"));
}

TEST_CASE("golden: no memory at all, with what the weights take, and a later start that went well") {
  const std::string failed = start_of_9b + "ValueError: No available memory for the cache blocks. Try increasing\n";
  const DoctorAnswer answer = failure_of(failed);
  REQUIRE(answer.failure);
  CHECK(answer.failure->code == "memory");
  CHECK(testing::contains(answer.failure->text, "; weights are counted as"));
  CHECK(testing::contains(answer.failure->text, ", on 2 ranks"));
  CHECK(answer.explained.figures.empty());
  CHECK_FALSE(failure_of(failed + start_of_9b + "# GPU blocks: 501\n").failure);
}

TEST_CASE("golden: where the memory itself was not printed it is what was checked and the null block") {
  const std::string text = with_text(failed_sample(), "Available KV cache memory: 3.0 GiB", "Profiling took 3.0 s");
  const DoctorAnswer answer = failure_of(text);
  REQUIRE(answer.failure);
  REQUIRE_FALSE(answer.failure->tries.empty());
  // 2.97 GiB and a block of 32,440,320 bytes, 0.03 GiB.
  CHECK(testing::contains(answer.failure->tries[0].command, "--available-memory 3.00 "));
}

TEST_CASE("edge: where no memory was printed at all nothing is tried in it") {
  const DoctorAnswer answer = failure_of(
      start_of_9b + "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (96). Each decode\n");
  REQUIRE(answer.failure);
  CHECK(answer.failure->code == "running_requests");
  CHECK(answer.failure->tries.empty());
}
