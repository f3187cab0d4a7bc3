#include "engines/vllm/start.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr std::int64_t smallest_block_line = 16;  ///< the block that no line announces: the engine's own default

std::vector<std::string> lines_of_vllm(const CachePlan& plan, const EngineSpec& engine) {
  std::vector<std::string> lines;
  const SpecPlan* const attention = primary_attention(plan);
  const SpecPlan* const state = largest_state(plan);
  if (attention && state && attention->block_size_tokens > engine.block_size_tokens.value_or(smallest_block_line))
    lines.push_back(fmt::format("Setting attention block size to {} tokens to ensure that attention page size is >= "
                                "mamba page size.", attention->block_size_tokens));
  if (state && state->padding_percent > 0)
    lines.push_back(fmt::format("Padding mamba page size by {:.2f}% to ensure that mamba page size and attention page "
                                "size are exactly equal.", state->padding_percent));
  if (!engine.num_blocks) lines.push_back("Available KV cache memory: " + printed_gib(engine.memory_bytes));
  const CapacityPlan& capacity = plan.capacity.front();
  if (capacity.fits)
    lines.push_back(fmt::format("GPU KV cache size: {} tokens, Maximum concurrency for {} tokens per request: {:.2f}x",
                                human_count(capacity.kv_cache_tokens), human_count(capacity.max_model_len),
                                capacity.max_concurrency));
  return lines;
}

/// A server on a card of at least 70 GiB that is no A100 takes more than any other. Source: vLLM EngineArgs.
ServerDefaults server_of_vllm(const Gpu& gpu) {
  const bool is_large = gpu.total_bytes >= std::int64_t{70} << 30 && !gpu.name.starts_with("A100");
  return is_large ? ServerDefaults{1024, 8192} : ServerDefaults{256, 2048};
}

// Source: rows 93 and 45 of the published block sizes, whose logs print these terms ("Desired GPU memory utilization is
// (0.9, 125.82 GiB)", "Model loading took 38.24 GiB", "Available KV cache memory"). The second prints the total of its
// card no finer than 0.36 GiB of graphs being 0.0114 of it: 31.84 GiB, as a card of 32 GB has.
constexpr PublishedStart starts_of_vllm[] = {
    {"GLM-5.3-Flash on 8 H200, vLLM 0.30-dev", 125.82, 38.24, 81.79},
    {"Qwen3.6-35B-A3B-NVFP4 on a card of 32 GB, vLLM 0.20.0", 28.66, 21.86, 2.95},
};

}  // namespace

constinit const EngineStart start_of_vllm{.lines = lines_of_vllm,
                                          .server = server_of_vllm,
                                          .beside_bytes = std::int64_t{5} << 30,
                                          .published = starts_of_vllm};

}  // namespace hybridkv
