#include "engines/tensorrt_llm/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/shell_word.h"
#include "planner/group_settings.h"

namespace hybridkv {

namespace {

constexpr const char* configuration_file = "hybridkv.yaml";

/// A flow mapping of YAML, so that the file is one line of a shell.
class FlowMapping {
 public:
  FlowMapping& add(std::string_view key, const std::string& value) {
    entries_.push_back(fmt::format("{}: {}", key, value));
    return *this;
  }
  FlowMapping& add(std::string_view key, std::int64_t value) { return add(key, std::to_string(value)); }
  FlowMapping& add(std::string_view key, bool value) { return add(key, std::string(value ? "true" : "false")); }
  std::string text() const { return fmt::format("{{{}}}", fmt::join(entries_, ", ")); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<std::string> entries_;
};

template <class Value>
std::string flow_list(const std::vector<Value>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

/// Keys with their values that say where states of prompts are kept; none where they are kept nowhere.
std::vector<std::pair<std::string_view, std::string>> snapshot_lines(const EngineSpec& engine) {
  const SnapshotPoints points = snapshot_points(engine);
  std::vector<std::pair<std::string_view, std::string>> lines;
  if (points.interval_tokens > 0)
    lines.emplace_back(group_key::periodic_snapshot_interval.name, std::to_string(points.interval_tokens));
  if (!points.from_start.empty())
    lines.emplace_back(group_key::offsets_from_start.name, flow_list(points.from_start));
  if (!points.from_end.empty()) lines.emplace_back(group_key::offsets_from_end.name, flow_list(points.from_end));
  if (points.at_branches) lines.emplace_back(group_key::enable_branch_snapshot.name, "true");
  return lines;
}

/// Weights of the groups of layers, in the order in which these first occur; empty: by avg_seq_len.
std::vector<double> pool_ratio_of(const EngineSpec& engine, const ModelSpec& model) {
  if (!engine.state_memory_ratio) return engine.own[group_key::pool_ratio];
  const double states = *engine.state_memory_ratio / (1 + *engine.state_memory_ratio);
  const auto first = std::find_if(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.attention.has_value() || layer.recurrent.has_value();
  });
  const bool states_first = first != model.layers.end() && first->recurrent.has_value();
  return states_first ? std::vector{states, 1 - states} : std::vector{1 - states, states};
}

void add_cache_types(FlowMapping& cache, const EngineSpec& engine) {
  if (engine.kv_format) cache.add("dtype", std::string(to_string(*engine.kv_format)));
  else if (engine.kv_dtype)
    cache.add("dtype", *engine.kv_dtype == DType::fp8_e4m3 ? std::string("fp8") : engine_name(*engine.kv_dtype));
  if (engine.ssm_dtype) cache.add("mamba_ssm_cache_dtype", engine_name(*engine.ssm_dtype));
}

FlowMapping cache_configuration(const Served& served) {
  const EngineSpec& engine = served.engine;
  FlowMapping cache;
  cache.add("max_gpu_total_bytes", engine.memory_bytes).add(group_key::tokens_per_block.name, tokens_per_block(engine));
  const std::vector<double> ratio = pool_ratio_of(engine, served.model);
  if (!ratio.empty()) cache.add(group_key::pool_ratio.name, flow_list(ratio));
  else cache.add(group_key::avg_seq_len.name, served.plan.pool_groups->typical_tokens);
  cache.add("enable_block_reuse", engine.cache_mode != CacheMode::none);
  if (!engine.own[group_key::enable_partial_reuse]) cache.add(group_key::enable_partial_reuse.name, false);
  if (!engine.own[group_key::use_kv_cache_manager_v2]) cache.add(group_key::use_kv_cache_manager_v2.name, false);
  if (const auto host = engine.own.find(group_key::host_cache_size)) cache.add(group_key::host_cache_size.name, *host);
  add_cache_types(cache, engine);
  FlowMapping snapshots;
  for (const auto& [key, value] : snapshot_lines(engine)) snapshots.add(key, value);
  if (!snapshots.empty()) cache.add("mamba_state_config", snapshots.text());
  return cache;
}

void say_what_tensorrt_llm_lacks(const Served& served, std::vector<std::string>& beside) {
  const EngineSpec& engine = served.engine;
  if (engine.num_blocks)
    beside.push_back("engine.num_blocks is not said: the engine counts blocks and states itself, from the bytes.");
  if (engine.conv_dtype)
    beside.push_back("No setting gives the type of the convolution's states: it is the model's.");
  if (engine.own[group_key::prunes_stale_leaves])
    beside.push_back("engine.prunes_stale_leaves is no setting of the engine: take a build from before PR 17323.");
  if (engine.cache_mode != CacheMode::none && !snapshot_points(engine).any())
    beside.push_back("Block reuse is on and no snapshot is set, so that it finds nothing.");
}

}  // namespace

std::vector<EngineSetting> tensorrt_llm_settings(const EngineSpec& engine) {
  const auto line = [](std::string_view key, const std::string& value) {
    return EngineSetting{fmt::format("engine.{}", key), value, fmt::format("{}: {}", key, value)};
  };
  std::vector<EngineSetting> settings{
      {"engine.cache_mode", std::string(to_string(engine.cache_mode)),
       fmt::format("enable_block_reuse: {}", engine.cache_mode != CacheMode::none)},
      {"engine.max_batch_size", std::to_string(max_batch_size(engine)),
       fmt::format("--max_batch_size {}", max_batch_size(engine))},
      line(group_key::tokens_per_block.name, std::to_string(tokens_per_block(engine)))};
  if (const auto ratio = engine.own.find(group_key::pool_ratio))
    settings.push_back(line(group_key::pool_ratio.name, flow_list(*ratio)));
  if (engine.state_memory_ratio)
    settings.push_back({"engine.state_memory_ratio", fmt::format("{}", *engine.state_memory_ratio), "pool_ratio"});
  for (const auto& [key, value] : snapshot_lines(engine)) settings.push_back(line(key, value));
  return settings;
}

ServeCommand serve_tensorrt_llm(const Served& served) {
  const EngineSpec& engine = served.engine;
  ServeCommand serve;
  CommandLine line(fmt::format("echo {} > {} && trtllm-serve",
                               shell_word("kv_cache_config: " + cache_configuration(served).text()),
                               configuration_file));
  add_model(line, "", served.model, serve.beside);
  line.add("--tp_size", engine.tensor_parallel);
  line.add("--max_batch_size", max_batch_size(engine));
  line.add("--max_num_tokens", engine.max_num_batched_tokens).add("--enable_chunked_prefill");
  line.add("--max_seq_len", served_length(served.limits));
  line.add("--config", configuration_file);
  say_what_tensorrt_llm_lacks(served, serve.beside);
  serve.command = line.text();
  return serve;
}

std::string bench_tensorrt_llm(const LoadTestQuestion& question) {
  return fmt::format(
      "vllm bench serve --backend openai --model {} --dataset-name random --random-input-len {} --random-output-len {} "
      "--ignore-eos --max-concurrency {} --num-prompts {} --save-result --result-filename {}",
      question.model, question.input, question.output, question.concurrency, question.requests, question.file);
}

}  // namespace hybridkv
