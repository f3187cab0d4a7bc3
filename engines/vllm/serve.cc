#include "engines/vllm/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.h"
#include "engines/vllm/connectors.h"
#include "planner/plan_facts.h"
#include "planner/replay_settings.h"
#include "planner/state_settings.h"

namespace hybridkv {

namespace {

void add_vllm_ranks(CommandLine& line, const EngineSpec& engine) {
  line.add("--tensor-parallel-size", engine.tensor_parallel);
  if (engine.pipeline_parallel > 1) line.add("--pipeline-parallel-size", engine.pipeline_parallel);
  if (engine.decode_context_parallel > 1) line.add("--decode-context-parallel-size", engine.decode_context_parallel);
}

void add_vllm_types(CommandLine& line, const Served& served) {
  const EngineSpec& engine = served.engine;
  if (engine.kv_format) line.add("--kv-cache-dtype", std::string(to_string(*engine.kv_format)));
  else if (engine.kv_dtype) line.add("--kv-cache-dtype", engine_name(*engine.kv_dtype));
  if (engine.conv_dtype) line.add("--mamba-cache-dtype", engine_name(*engine.conv_dtype));
  // Said also where it is the model's own: engines take it from a config.json that need not have it.
  if (const auto dtype = engine.ssm_dtype ? engine.ssm_dtype : served.model.ssm_dtype)
    line.add("--mamba-ssm-cache-dtype", engine_name(*dtype));
}

void add_vllm_drafts(CommandLine& line, const EngineSpec& engine, std::vector<std::string>& beside) {
  if (engine.speculative_tokens == 0) return;
  const char* const method = engine.mtp_layers > 0 ? "mtp" : engine.draft ? "eagle" : "ngram";
  line.add("--speculative-config",
           fmt::format(R"({{"method":"{}","num_speculative_tokens":{}}})", method, engine.speculative_tokens));
  if (engine.draft) beside.push_back("The model of the drafts goes into --speculative-config as its key model.");
}

/// What of the scenario no flag of the engine says.
void say_what_vllm_lacks(const EngineSpec& engine, std::vector<std::string>& beside) {
  std::vector<const char*> keys;
  const auto add = [&](bool set, const char* key) {
    if (set) keys.push_back(key);
  };
  add(engine.backend_profile.has_value(), "engine.backend_profile");
  add(!engine.kernel_block_sizes.empty(), "engine.kernel_block_sizes");
  add(engine.kernel_alignment_tokens.has_value(), "engine.kernel_alignment_tokens");
  add(engine.page_alignment_bytes != 1, "engine.page_alignment_bytes");
  add(engine.checkpoint_alignment_tokens.has_value(), "engine.checkpoint_alignment_tokens");
  add(engine.checkpoint_blocks.has_value(), "engine.checkpoint_blocks");
  add(engine.layers_per_group.has_value(), "engine.layers_per_group");
  add(engine.concurrent_batches.has_value(), "engine.concurrent_batches");
  add(!engine.pipeline_layers.empty(), "engine.pipeline_layers");
  add(!engine.pipeline_memory_bytes.empty(), "engine.pipeline_memory");
  add(engine.pad_heads, "engine.pad_heads");
  add(engine.hidden_state_size != 0, "engine.hidden_state_size");
  if (!keys.empty())
    beside.push_back(fmt::format("No flag says {}: {} from the machine, its backends and the build.",
                                 fmt::join(keys, ", "), keys.size() == 1 ? "it follows" : "they follow"));
}

void add_vllm_scheduler(CommandLine& line, const SchedulerSettings& scheduler) {
  const SchedulerSettings defaults;
  if (scheduler.max_num_seqs != defaults.max_num_seqs) line.add("--max-num-seqs", scheduler.max_num_seqs);
  if (scheduler.max_num_active_seqs) line.add("--max-num-active-seqs", *scheduler.max_num_active_seqs);
  if (scheduler.long_prefill_threshold_adaptive) line.add("--long-prefill-token-threshold-adaptive");
  if (scheduler.long_prefill_threshold != defaults.long_prefill_threshold)
    line.add("--long-prefill-token-threshold", scheduler.long_prefill_threshold);
}

std::string mode_flag(CacheMode mode, const EngineRules& rules) {
  if (mode == CacheMode::none) return "--no-enable-prefix-caching";
  // Where caching is the default the option of the mode is deprecated; caching selects align.
  if (rules.caches_by_default) return "--enable-prefix-caching";
  return fmt::format("--enable-prefix-caching --mamba-cache-mode {}", to_string(mode));
}

void add_vllm_states(CommandLine& line, const EngineSpec& engine) {
  if (engine.own[state_key::enable_mamba_shared_prefix_checkpoint]) line.add("--enable-mamba-shared-prefix-checkpoint");
  if (engine.own[state_key::enable_mamba_cache_stochastic_rounding])
    line.add("--enable-mamba-cache-stochastic-rounding");
  if (engine.own.find(replay_key::mamba_backend) == StateKernels::flashinfer) line.add("--mamba-backend flashinfer");
  if (!engine.own[replay_key::use_replayssm]) return;
  line.add("--use-replayssm");
  if (const auto kept = engine.own.find(replay_key::replayssm_buffer_len)) line.add("--replayssm-buffer-len", *kept);
}

}  // namespace

std::vector<EngineSetting> vllm_planned_settings(const PlannedChoice& choice) {
  std::vector<EngineSetting> settings;
  const CacheMode mode = choice.plan.cache_mode;
  if (choice.says_mode && largest_state(choice.plan))
    settings.push_back({"engine.cache_mode", std::string(to_string(mode)), mode_flag(mode, *choice.plan.rules)});
  if (choice.block_floor)
    settings.push_back({"engine.block_size_tokens", std::to_string(*choice.block_floor),
                        fmt::format("--block-size {}", *choice.block_floor)});
  return settings;
}

std::vector<EngineSetting> vllm_settings(const BlockChoice& choice) {
  std::vector<EngineSetting> settings = vllm_planned_settings({choice.plan, choice.block_floor});
  settings.insert(settings.begin(),
                  {"engine.attention_pack_size", std::to_string(choice.plan.attention_pack_size), ""});
  if (!choice.geometry.caches_prefixes()) return settings;
  if (choice.match_unit_tokens)
    settings.push_back({"simulate.match_unit_tokens", std::to_string(*choice.match_unit_tokens),
                        fmt::format("--prefix-match-unit {}", *choice.match_unit_tokens)});
  if (!choice.geometry.depends_on_retention()) return settings;
  if (choice.retention_tokens) {
    settings.push_back({"simulate.retention_interval_tokens", std::to_string(*choice.retention_tokens),
                        fmt::format("--prefix-cache-retention-interval {}", *choice.retention_tokens)});
  } else {
    // An interval of one block keeps every checkpoint, also in versions whose default is to keep only the last: of one
    // block of every group, where their blocks differ.
    const bool unset_keeps_all = !choice.plan.rules->retention_tokens;
    const std::int64_t block = choice.geometry.common_multiple();
    settings.push_back({"simulate.retention_interval_tokens", unset_keeps_all ? "all (unset)" : std::to_string(block),
                        fmt::format("--prefix-cache-retention-interval {}", block)});
  }
  return settings;
}

namespace {

/// The whole line, but for packs; adds what it cannot say.
CommandLine vllm_line(const Served& served, const ConnectorFlags& connector, std::vector<std::string>& beside) {
  const EngineSpec& engine = served.engine;
  std::string program = "vllm";
  if (engine.conv_state_layout == ConvStateLayout::ds || connector.states_dimension_first)
    program = "VLLM_SSM_CONV_STATE_LAYOUT=DS " + program;
  if (engine.cache_order && has_one_allocation(engine))
    program = fmt::format("VLLM_KV_CACHE_LAYOUT={} {}", to_string(*engine.cache_order), program);
  CommandLine line(connector.environment + program);
  add_model(line, "serve", served.model, beside);
  add_vllm_ranks(line, engine);
  line.add("--max-model-len", served_length(served.limits));
  for (const EngineSetting& setting : served.settings) line.add(setting.flag);
  if (engine.mamba_block_size_tokens) line.add("--mamba-block-size", *engine.mamba_block_size_tokens);
  if (engine.num_blocks) line.add("--num-gpu-blocks-override", *engine.num_blocks);
  else if (served.gpu_share) line.add("--gpu-memory-utilization", fmt::format("{}", *served.gpu_share));
  else line.add("--kv-cache-memory-bytes", engine.memory_bytes);
  add_vllm_types(line, served);
  line.add("--max-num-batched-tokens", connector.max_num_batched_tokens);
  add_vllm_scheduler(line, served.scheduler);
  if (!engine.hybrid_manager) line.add("--disable-hybrid-kv-cache-manager");
  add_vllm_states(line, engine);
  add_vllm_drafts(line, engine, beside);
  line.add(connector.words);
  return line;
}

}  // namespace

ServeCommand serve_vllm(const Served& served) {
  const EngineSpec& engine = served.engine;
  ServeCommand serve;
  CommandLine line = vllm_line(served, {.max_num_batched_tokens = engine.max_num_batched_tokens}, serve.beside);
  say_what_vllm_lacks(engine, serve.beside);
  if (engine.attention_pack_size == 1) {
    serve.command = line.text();
    serve.recipes = connector_recipes(served, [&](const ConnectorFlags& connector) {
      std::vector<std::string> said;
      return vllm_line(served, connector, said).text();
    });
    return serve;
  }
  if (!engine.rules->builder.empty() && has_one_allocation(engine)) {
    serve.beside.insert(serve.beside.begin(),
                        fmt::format("No release of vLLM has more than one attention layer a page by itself: install "
                                    "the builder that `hybridkv emit {}` writes of these settings, then start: {}",
                                    engine.rules->builder, line.text()));
    return serve;
  }
  line.add("--attn-pack-size", engine.attention_pack_size);
  serve.beside.insert(serve.beside.begin(),
                      fmt::format("No release of vLLM has more than one attention layer a page; a build with PR 35703 "
                                  "is started with: {}", line.text()));
  return serve;
}

std::string bench_vllm(const LoadTestQuestion& question) {
  return fmt::format(
      "vllm bench serve --model {} --dataset-name random --random-input-len {} --random-output-len {} --ignore-eos "
      "--max-concurrency {} --num-prompts {} --save-result --result-filename {}",
      question.model, question.input, question.output, question.concurrency, question.requests, question.file);
}

std::string forward_vllm(const std::string& model, const std::string& shapes, const std::string& result) {
  return fmt::format("vllm bench forward --model {} --shapes {} --output-json {}", model, shell_word(shapes),
                     shell_word(result));
}

}  // namespace hybridkv
