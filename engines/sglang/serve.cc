#include "engines/sglang/serve.h"

#include <fmt/format.h>

#include "planner/tree_settings.h"
#include "planner/tree_split.h"

namespace hybridkv {

namespace {

/// What the engine reads from its environment, before the command.
std::string environment(const EngineSpec& engine) {
  std::string words;
  if (engine.own[tree_key::skip_decode_lock]) words += "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1 ";
  if (engine.conv_dtype) words += fmt::format("SGLANG_MAMBA_CONV_DTYPE={} ", engine_name(*engine.conv_dtype));
  return words;
}

void add_sglang_ranks(CommandLine& line, const EngineSpec& engine) {
  const std::int64_t sharing = engine.own[tree_key::attention_data_parallel];
  line.add("--tp-size", engine.tensor_parallel * sharing);  // of both, each at most 2^20
  if (sharing > 1) line.add("--dp-size", sharing).add("--enable-dp-attention");
}

void add_sglang_limits(CommandLine& line, const EngineSpec& engine) {
  line.add("--chunked-prefill-size", engine.max_num_batched_tokens);
  if (engine.max_running_requests) line.add("--max-running-requests", *engine.max_running_requests);
  if (const auto tokens = engine.own.find(tree_key::max_total_tokens)) line.add("--max-total-tokens", *tokens);
  if (!engine.own[tree_key::overlap_schedule]) line.add("--disable-overlap-schedule");
  if (engine.own[tree_key::unified_memory]) line.add("--enable-unified-memory");
}

void add_sglang_host(CommandLine& line, const EngineSpec& engine) {
  if (!engine.own[tree_key::enable_hierarchical_cache]) return;
  line.add("--enable-hierarchical-cache");
  if (const auto size = engine.own.find(tree_key::hicache_size)) line.add("--hicache-size", *size);
  if (const auto ratio = engine.own.find(tree_key::hicache_ratio))
    line.add(fmt::format("--hicache-ratio {}", ratio->front()));
  line.add("--hicache-write-policy", std::string(to_string(engine.own[tree_key::hicache_write_policy])));
}

void add_sglang_types(CommandLine& line, const EngineSpec& engine, const ModelSpec& model) {
  if (engine.kv_dtype) line.add("--kv-cache-dtype", engine_name(*engine.kv_dtype));
  if (const auto dtype = engine.ssm_dtype ? engine.ssm_dtype : model.ssm_dtype)
    line.add("--mamba-ssm-dtype", engine_name(*dtype));
}

void add_sglang_drafts(CommandLine& line, const EngineSpec& engine) {
  const std::int64_t drafts = engine.speculative_tokens;
  if (drafts == 0) return;
  if (engine.mtp_layers == 0) line.add("--speculative-algorithm", "NGRAM");
  else line.add("--speculative-algorithm", "NEXTN").add("--speculative-num-steps", drafts - 1)
           .add("--speculative-eagle-topk", 1);
  line.add("--speculative-num-draft-tokens", drafts);
  if (engine.own[tree_key::linear_replayssm_spec]) line.add("--enable-linear-replayssm-spec");
}

void say_what_sglang_lacks(const Served& served, std::vector<std::string>& beside) {
  const TokenStateSplit& split = served.plan.tree_pools->split;
  beside.push_back(fmt::format(
      "No flag gives the memory: what --mem-fraction-static leaves beside the weights is split, and hybridkv does not "
      "know the weights. With the {:.5g} GiB a rank that were planned the engine prints max_mamba_cache_size {} and "
      "max_total_num_tokens {}: set --mem-fraction-static until it does.",
      static_cast<double>(served.engine.memory_bytes) / 0x1p30, split.state_slots, split.token_slots));
  if (served.engine.cache_mode == CacheMode::none) return;
  if (served.plan.tree_pools->strategy == TreeStrategy::no_buffer)
    beside.push_back("no_buffer switches overlap scheduling off.");
  else
    beside.push_back(fmt::format("{} is for models on SGLang's own list, with --linear-attn-backend triton; which "
                                 "models those are is not known here in full.",
                                 to_string(served.plan.tree_pools->strategy)));
}

}  // namespace

std::vector<EngineSetting> sglang_settings(const EngineSpec& engine) {
  std::vector<EngineSetting> settings;
  const bool keeps = engine.cache_mode != CacheMode::none;
  settings.push_back({"engine.cache_mode", std::string(to_string(engine.cache_mode)),
                      keeps ? "" : "--disable-radix-cache"});
  if (keeps) {
    const std::string strategy(to_string(tree_strategy(engine)));
    settings.push_back({"engine.mamba_radix_cache_strategy", strategy, "--mamba-radix-cache-strategy " + strategy});
  }
  if (const auto slots = engine.own.find(tree_key::max_mamba_cache_size)) {
    settings.push_back({"engine.max_mamba_cache_size", std::to_string(*slots),
                        fmt::format("--max-mamba-cache-size {}", *slots)});
  } else {
    const double ratio = memory_ratio(engine);
    settings.push_back({"engine.state_memory_ratio", fmt::format("{}", ratio),
                        fmt::format("--mamba-full-memory-ratio {}", ratio)});
  }
  const std::int64_t page = engine.own[tree_key::page_size];
  settings.push_back({"engine.page_size", std::to_string(page), fmt::format("--page-size {}", page)});
  if (keeps && tree_strategy(engine) != TreeStrategy::no_buffer)
    settings.push_back({"engine.mamba_track_interval", std::to_string(track_interval(engine)),
                        fmt::format("--mamba-track-interval {}", track_interval(engine))});
  return settings;
}

ServeCommand serve_sglang(const Served& served) {
  const EngineSpec& engine = served.engine;
  ServeCommand serve;
  CommandLine line(environment(engine) + "python -m sglang.launch_server");
  add_model(line, "--model-path", served.model, serve.beside);
  add_sglang_ranks(line, engine);
  line.add("--context-length", served_length(served.limits));
  for (const EngineSetting& setting : served.settings) line.add(setting.flag);
  add_sglang_limits(line, engine);
  add_sglang_host(line, engine);
  add_sglang_types(line, engine, served.model);
  add_sglang_drafts(line, engine);
  say_what_sglang_lacks(served, serve.beside);
  serve.command = line.text();
  return serve;
}

std::string bench_sglang(const LoadTestQuestion& question) {
  return fmt::format(
      "python -m sglang.bench_serving --backend sglang --model {} --dataset-name random --random-input-len {} "
      "--random-output-len {} --random-range-ratio 1 --max-concurrency {} --num-prompts {} --output-file {}",
      question.model, question.input, question.output, question.concurrency, question.requests, question.file);
}

}  // namespace hybridkv
