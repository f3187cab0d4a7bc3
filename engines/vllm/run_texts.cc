#include "engines/vllm/start.h"

namespace hybridkv {

namespace {

constexpr std::string_view run_lines_of_vllm[] = {"Avg generation throughput: "};

// Source: vLLM LoggingStatLogger.log. What else stands between these parts differs from release to release.
constexpr RunPattern run_values_of_vllm[] = {
    {RunKey::prompt_rate, "Avg prompt throughput: "},
    {RunKey::generation_rate, "Avg generation throughput: "},
    {RunKey::running, "Running: "},
    {RunKey::waiting, "Waiting: "},
    {RunKey::preemptions, "Preemptions: ", 1, RunJoin::addends},
    {RunKey::kv_usage, " KV cache usage: "},
    {RunKey::hit_rate, "Prefix cache hit rate: "},
    {RunKey::external_hits, "External prefix cache hit rate: "},
};

// Source: vLLM PrometheusStatLogger. Counters end in _total on the page.
constexpr RunPattern metrics_of_vllm[] = {
    {RunKey::running, "vllm:num_requests_running", 1, RunJoin::count},
    {RunKey::waiting, "vllm:num_requests_waiting", 1, RunJoin::count},
    {RunKey::preemptions, "vllm:num_preemptions_total", 1, RunJoin::count},
    {RunKey::kv_usage, "vllm:kv_cache_usage_perc", 100},
    {RunKey::kv_usage, "vllm:gpu_cache_usage_perc", 100},  // releases of 2025
    {RunKey::hit_tokens, "vllm:prefix_cache_hits_total", 1, RunJoin::count},
    {RunKey::hit_tokens, "vllm:gpu_prefix_cache_hits_total", 1, RunJoin::count},
    {RunKey::queried_tokens, "vllm:prefix_cache_queries_total", 1, RunJoin::count},
    {RunKey::queried_tokens, "vllm:gpu_prefix_cache_queries_total", 1, RunJoin::count},
};

}  // namespace

constinit const RunTexts run_texts_of_vllm{.lines = run_lines_of_vllm,
                                           .several = "Engines Aggregated: ",
                                           .values = run_values_of_vllm,
                                           .metrics = metrics_of_vllm,
                                           .prompt_lengths = "vllm:request_prompt_tokens",
                                           .hits_over = "of the last 1,000 requests"};

}  // namespace hybridkv
