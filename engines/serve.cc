#include "engines/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/shell_word.h"
#include "engines/engine.h"
#include "planner/plan_facts.h"

namespace hybridkv {

namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "Qwen/Qwen3.5-27B" of "config.json of Qwen/Qwen3.5-27B on Hugging Face."; nothing where the source names none, or
/// that of another model with the same shapes.
std::optional<std::string> repository_of(const ModelSpec& model) {
  constexpr std::string_view before = "config.json of ";
  const std::size_t at = model.source.find(before);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t start = at + before.size();
  std::string repository = model.source.substr(start, model.source.find_first_of(" \n:,;", start) - start);
  while (repository.ends_with('.')) repository.pop_back();
  const bool is_own = lower_case(repository).find(lower_case(model.name)) != std::string::npos;
  const bool has_owner = std::count(repository.begin(), repository.end(), '/') == 1;
  return is_own && has_owner ? std::optional(repository) : std::nullopt;
}

}  // namespace

CommandLine& CommandLine::add(const std::string& words) {
  if (!words.empty()) text_ += " " + words;
  return *this;
}

CommandLine& CommandLine::add(const std::string& flag, const std::string& value) {
  return add(flag).add(shell_word(value));
}

void add_model(CommandLine& line, const std::string& flag, const ModelSpec& model, std::vector<std::string>& beside) {
  const std::optional<std::string> repository = repository_of(model);
  line.add(flag, repository.value_or(model.name.empty() ? "MODEL" : model.name));
  if (!repository)
    beside.push_back(fmt::format("{} stands for the folder or the repository of the model, which is not known here.",
                                 model.name.empty() ? "MODEL" : model.name));
}

std::string engine_name(DType dtype) {
  switch (dtype) {
    case DType::fp32: return "float32";
    case DType::fp16: return "float16";
    case DType::bf16: return "bfloat16";
    default: return std::string(to_string(dtype));
  }
}

std::int64_t served_length(const LimitsSpec& limits) {
  return *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
}

namespace {

std::vector<EngineSetting> choices_without_flags(const PlannedChoice& choice) {
  std::vector<EngineSetting> settings;
  if (choice.says_mode && largest_state(choice.plan))
    settings.push_back({"engine.cache_mode", std::string(to_string(choice.plan.cache_mode)), ""});
  if (choice.block_floor)
    settings.push_back({"engine.block_size_tokens", std::to_string(*choice.block_floor), ""});
  return settings;
}

}  // namespace

ServeCommand serve_command(const Served& served) {
  const Engine& engine = engine_of(*served.engine.rules);
  const EngineRules& rules = *engine.rules;
  const auto none = [](const std::string& why) { return ServeCommand{"", {why}}; };
  if (!engine.serve)
    return none(fmt::format("No command line: of {} only the rules of memory are read, and no flags are known.",
                            rules.title));
  if (served.engine.strategy != rules.strategy)
    return none(fmt::format("No engine runs it: {} has no strategy {}; it is modelled.", rules.title,
                            to_string(served.engine.strategy)));
  if (served.engine.what_if != SupposedLayout{})
    return none("No engine runs it: engine.what_if is in no release; it is modelled.");
  if (const UnservedModels* const models = unserved_by(rules, served.model))
    return none(fmt::format("No command line: {}.", unserved_text(rules, *models)));
  return engine.serve(served);
}

std::vector<EngineSetting> block_settings(const BlockChoice& choice) {
  if (const Engine& engine = engine_of(*choice.plan.rules); engine.block_settings) return engine.block_settings(choice);
  return choices_without_flags({choice.plan, choice.block_floor});
}

std::vector<EngineSetting> planned_settings(const EngineSpec& engine, const PlannedChoice& choice) {
  const Engine& served = engine_of(*engine.rules);
  if (served.own_settings) return served.own_settings(engine);
  return served.planned_settings ? served.planned_settings(choice) : choices_without_flags(choice);
}

std::vector<EngineSetting> own_settings(const EngineSpec& engine) {
  return engine_of(*engine.rules).own_settings(engine);
}

}  // namespace hybridkv
