#include "engines/llama_cpp/serve.h"

#include <fmt/format.h>

#include "planner/tensor_pool_rules.h"
#include "planner/tensor_pool_settings.h"

namespace hybridkv {

namespace {

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
    beside.push_back(fmt::format("The drafter, and that it drafts {} tokens, is to be added; its flags are not known "
                                 "here.", engine.speculative_tokens));
}

}  // namespace

std::vector<EngineSetting> llama_cpp_settings(const EngineSpec& engine) {
  const auto setting = [](std::string key, const char* flag, std::int64_t value) {
    return EngineSetting{std::move(key), std::to_string(value), fmt::format("{} {}", flag, value)};
  };
  const bool keeps = engine.cache_mode != CacheMode::none;
  return {setting("engine.max_running_requests", "--parallel", sequences_of(engine)),
          setting("engine.ctx_checkpoints", "--ctx-checkpoints", keeps ? engine.own[row_key::ctx_checkpoints] : 0),
          setting("engine.checkpoint_min_step", "--checkpoint-min-step", engine.own[row_key::checkpoint_min_step])};
}

ServeCommand serve_llama_cpp(const Served& served) {
  const std::string model = served.model.name.empty() ? "MODEL" : served.model.name;
  ServeCommand serve;
  serve.beside.push_back(fmt::format("{}.gguf stands for the file of the model, which is not known here.", model));
  CommandLine line("llama-server");
  line.add("--model", model + ".gguf");
  line.add("--ctx-size", served.plan.arenas.front().usable_ids());
  // With an explicit number of slots the cells are split among them unless this is said.
  line.add("--kv-unified");
  for (const EngineSetting& setting : served.settings) line.add(setting.flag);
  line.add("--cache-ram", 0);
  if (served.model.dtype == DType::fp32) line.add("--cache-type-k", "f32").add("--cache-type-v", "f32");
  say_what_llama_cpp_lacks(served, serve.beside);
  serve.command = line.text();
  return serve;
}

}  // namespace hybridkv
