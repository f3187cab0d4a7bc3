// Lines and pages of the time in which an engine serves: what of them is kept.
#include "ask/start/run_log.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/ask/start/log_of_text.h"

using namespace hybridkv;

namespace {

const std::string served_line =
    "INFO [loggers.py:345] Engine 000: Avg prompt throughput: 1200.5 tokens/s, Avg generation throughput: 80.0 "
    "tokens/s, Running: 12 reqs, Waiting: 3 reqs, Preemptions: 2, GPU KV cache usage: 97.5%, Prefix cache hit rate: "
    "41.7%, External prefix cache hit rate: 5.2%\n";

double last(const StartupLog& log, RunKey key) { return log.run.find(key).value().last; }

}  // namespace

TEST_CASE("golden: every value of a line is kept, and the two hit rates are told apart") {
  const StartupLog log = testing::log_of_text(served_line);
  CHECK(last(log, RunKey::prompt_rate) == 1200.5);
  CHECK(last(log, RunKey::generation_rate) == 80);
  CHECK(last(log, RunKey::running) == 12);
  CHECK(last(log, RunKey::waiting) == 3);
  CHECK(last(log, RunKey::preemptions) == 2);
  CHECK(last(log, RunKey::kv_usage) == 97.5);
  CHECK(last(log, RunKey::hit_rate) == 41.7);
  CHECK(last(log, RunKey::external_hits) == 5.2);
  CHECK(log.run.lines == 1);
  CHECK_FALSE(log.has_figure());
}

TEST_CASE("golden: of lines the last and the largest count, preemptions add up, another start begins anew") {
  const std::string quiet =
      "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 9.0 tokens/s, Running: 1 reqs, "
      "Waiting: 0 reqs, Preemptions: 1, GPU KV cache usage: 2.0%\n";
  const StartupLog log = testing::log_of_text(served_line + quiet);
  CHECK(log.run.find(RunKey::running) == RunFigure{1, 2, 12, 1, false});
  CHECK(log.run.find(RunKey::preemptions) == RunFigure{3, 2, 3, 2, true});
  CHECK(log.run.find(RunKey::hit_rate)->last_line == 1);
  const StartupLog again = testing::log_of_text(served_line + "LLM engine (v0.33.0) with config: \n" + quiet);
  CHECK(again.run.lines == 1);
  CHECK(again.run.most(RunKey::running) == 1.0);
  CHECK_FALSE(again.run.find(RunKey::hit_rate));
}

TEST_CASE("golden: a page of two engines: counts are added, of shares the largest counts") {
  const StartupLog log = testing::log_of_text(
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a{b}\"} 4.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"a{b}\"} 5.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a{b}\"} 0.25\n"
      "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"a{b}\"} 0.5\n"
      "vllm:prefix_cache_queries_total{engine=\"0\"} 3e+06\n"
      "vllm:prefix_cache_queries_total{engine=\"1\"} 1e+06\n"
      "vllm:prefix_cache_hits_total{engine=\"0\"} 1e+06\n"
      "vllm:prefix_cache_hits_created{engine=\"0\"} 1.7e+09\n"
      "vllm:request_prompt_tokens_bucket{engine=\"0\",le=\"2000.0\"} 7.0\n"
      "vllm:request_prompt_tokens_bucket{engine=\"1\",le=\"2000.0\"} 1.0\n"
      "vllm:request_prompt_tokens_bucket{engine=\"0\",le=\"+Inf\"} 9.0\n"
      "vllm:request_prompt_tokens_count{engine=\"0\"} 9.0\n"
      "vllm:request_prompt_tokens_sum{engine=\"0\"} 18000.0\n");
  CHECK(last(log, RunKey::running) == 9);
  CHECK(last(log, RunKey::kv_usage) == 50);
  CHECK(log.run.hit_rate_since_start() == 25.0);
  CHECK(log.run.is_of_several);
  CHECK(log.run.page_line == 2);
  REQUIRE(log.run.prompts);
  CHECK(log.run.prompts->buckets.front() == PromptLengths::Bucket{2000, 8});
  CHECK(log.run.prompts->buckets.size() == 2);
  CHECK(log.run.prompts->requests == 9);
}

TEST_CASE("golden: a page that comes again replaces itself, and its preemptions those of the lines") {
  const StartupLog log = testing::log_of_text(served_line +
                                              "vllm:num_preemptions_total{engine=\"0\"} 4.0\n"
                                              "vllm:num_preemptions_total{engine=\"0\"} 6.0\n");
  CHECK(last(log, RunKey::preemptions) == 6);
  CHECK_FALSE(log.run.is_of_several);
}

TEST_CASE("edge: lines that are cut or are no samples change nothing") {
  const StartupLog log = testing::log_of_text(
      "vllm:num_requests_running{engine=\"0\n"
      "vllm:num_requests_running{engine=\"0\"} NaN\n"
      "vllm:num_requests_running\n"
      "vllm:num_requests_running_else{engine=\"0\"} 4.0\n"
      "Avg generation throughput: fast, Running: many\n");
  CHECK(log.run.empty());
}

TEST_CASE("golden: the settings of a page, and the length that its two capacities have in common") {
  const StartupLog log = testing::log_of_text(
      "vllm:num_requests_running{engine=\"0\",model_name=\"Qwen/Qwen3.5-4B\"} 0.0\n"
      "vllm:cache_config_info{_block_size_resolved=\"True\",block_size=\"2112\",cache_dtype=\"fp8\","
      "enable_prefix_caching=\"True\",hash_block_size=\"16\",kv_cache_max_concurrency=\"52.92\","
      "kv_cache_size_tokens=\"1734082\",mamba_block_size=\"99\",mamba_cache_dtype=\"float32\","
      "mamba_cache_mode=\"align\",num_gpu_blocks=\"1323\",num_gpu_blocks_override=\"None\","
      "prefix_match_unit=\"None\"} 1.0\n");
  const auto text = [&](LogKey key) { return log.find(key) ? log.find(key)->text : "none"; };
  CHECK(log.models == std::vector<std::string>{"Qwen/Qwen3.5-4B"});
  CHECK(text(LogKey::block_size) == "2112");
  CHECK(text(LogKey::num_blocks) == "1323");
  CHECK(text(LogKey::kv_dtype) == "fp8");
  CHECK(text(LogKey::cache_mode) == "align");
  CHECK(text(LogKey::prefix_caching) == "True");
  CHECK(text(LogKey::match_unit) == "none");
  CHECK(text(LogKey::concurrency_length) == "32768");
  CHECK(log.disagreements.empty());
}
