#include "engines/llama_cpp/serve.h"

#include <fmt/format.h>

#include "planner/cell_types.h"
#include "planner/tensor_pool_rules.h"
#include "planner/row_settings.h"
#include "planner/sequence_context.h"

namespace hybridkv {

namespace {

/// Keys whose value a flag of the server takes as it is.
struct NumberFlag {
  const Setting<std::int64_t>* key;
  const char* flag;
};
constexpr NumberFlag number_flags[] = {{&row_key::batch_size, "--batch-size"},
                                       {&row_key::ubatch_size, "--ubatch-size"}};

void add_types(CommandLine& line, const EngineSpec& engine) {
  const CellTypes types = cell_types_of(engine);
  if (types.key != CellType::f16) line.add("--cache-type-k", std::string(to_string(types.key)));
  if (types.value != CellType::f16) line.add("--cache-type-v", std::string(to_string(types.value)));
  if (const auto flash = engine.own[row_key::flash_attn]; flash != FlashAttention::automatic)
    line.add("--flash-attn", std::string(flash_attention_names[static_cast<std::size_t>(flash)]));
}

/// What was set beside the choices of `llama_cpp_settings`.
void add_own_flags(CommandLine& line, const EngineSpec& engine) {
  for (const NumberFlag& number : number_flags)
    if (const auto value = engine.own.find(*number.key)) line.add(number.flag, *value);
  if (!engine.own[row_key::cache_idle_slots]) line.add("--no-cache-idle-slots");
  if (const auto percent = engine.own.find(row_key::slot_prompt_similarity_percent))
    line.add("--slot-prompt-similarity", fmt::format("{:.2f}", static_cast<double>(*percent) / 100));
  if (engine.own[row_key::swa_full]) line.add("--swa-full");
  add_types(line, engine);
  if (engine.speculative_tokens > 0)
    line.add("--spec-type", std::string(drafter_names[static_cast<std::size_t>(engine.own[row_key::spec_type])]));
}

/// What of the plan no flag says.
void say_what_llama_cpp_lacks(const Served& served, std::vector<std::string>& beside) {
  const EngineSpec& engine = served.engine;
  beside.push_back(fmt::format(
      "No flag gives the memory: --ctx-size says how many cells {:.5g} GiB hold beside the rows of all slots. A slot "
      "takes what its model was trained for, and no flag here turns away requests of {} tokens or more.",
      static_cast<double>(engine.memory_bytes) / 0x1p30, served_length(served.limits)));
  if (engine.tensor_parallel > 1)
    beside.push_back(fmt::format("The memory is that of each of {} GPUs with heads split over them; the engine splits "
                                 "layers or rows of tensors (--split-mode).", engine.tensor_parallel));
  if (engine.speculative_tokens > 0)
    beside.push_back(fmt::format("That it drafts {} tokens, and the file of the drafter where it has one, are to be "
                                 "added.", engine.speculative_tokens));
}

}  // namespace

std::vector<EngineSetting> llama_cpp_settings(const EngineSpec& engine) {
  const auto setting = [](std::string key, const char* flag, std::int64_t value) {
    return EngineSetting{std::move(key), std::to_string(value), fmt::format("{} {}", flag, value)};
  };
  const bool keeps = engine.cache_mode != CacheMode::none, shares = shares_cells(engine);
  // With an explicit number of slots the cells are split among them unless this is said.
  return {{"engine.kv_unified", shares ? "true" : "false", shares ? "--kv-unified" : ""},
          setting("engine.max_running_requests", "--parallel", sequences_of(engine)),
          setting("engine.ctx_checkpoints", "--ctx-checkpoints", keeps ? engine.own[row_key::ctx_checkpoints] : 0),
          setting("engine.checkpoint_min_step", "--checkpoint-min-step", engine.own[row_key::checkpoint_min_step]),
          setting("engine.cache_ram", "--cache-ram", keeps ? engine.own[row_key::cache_ram] : 0)};
}

ServeCommand serve_llama_cpp(const Served& served) {
  const std::string model = served.model.name.empty() ? "MODEL" : served.model.name;
  ServeCommand serve;
  serve.beside.push_back(fmt::format("{}.gguf stands for the file of the model, which is not known here.", model));
  CommandLine line("llama-server");
  line.add("--model", model + ".gguf");
  line.add("--ctx-size", served.plan.rows->cells);
  for (const EngineSetting& setting : served.settings) line.add(setting.flag);
  add_own_flags(line, served.engine);
  say_what_llama_cpp_lacks(served, serve.beside);
  serve.command = line.text();
  return serve;
}

}  // namespace hybridkv
