// What the command line lays over a scenario: one flag of `plan` a line, the value of --set without the flag's name.
#include <utility>

#include "cli/scenario_options.h"
#include "fuzz/harness.h"
#include "fuzz/plan_checks.h"

using namespace hybridkv;

namespace {

constexpr std::string_view scenario = R"(
model:
  name: base
  dtype: bf16
  kinds:
    a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64}
    m: {type: mamba2, heads: 8, head_dim: 64, state_size: 64, groups: 1, conv_kernel: 4, chunk_size: 64}
  layers: (mmma)3
engine: {memory: 1 GiB}
limits: {max_model_len: 4096}
)";

ScenarioOptions options_of(std::string_view text, const std::string& file) {
  ScenarioOptions options;
  options.scenario = file;
  const std::pair<std::string_view, std::string ScenarioOptions::*> flags[] = {
      {"--model ", &ScenarioOptions::model},
      {"--pack ", &ScenarioOptions::pack},
      {"--tp ", &ScenarioOptions::tensor_parallel},
      {"--memory ", &ScenarioOptions::memory},
      {"--max-model-len ", &ScenarioOptions::max_model_len},
      {"--mode ", &ScenarioOptions::cache_mode},
      {"--kv-dtype ", &ScenarioOptions::kv_dtype},
      {"--ssm-dtype ", &ScenarioOptions::ssm_dtype},
  };
  for (const std::string& line : fuzz::lines(text)) {
    bool is_flag = false;
    for (const auto& [flag, value] : flags) {
      if (!line.starts_with(flag)) continue;
      options.*value = line.substr(flag.size());
      is_flag = true;
    }
    if (!is_flag) options.overrides.push_back(line);
  }
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  file.write(scenario);
  const std::string_view text = fuzz::Input(data, size).rest();
  const ScenarioOptions options = options_of(text, file.path());
  fuzz::accepts([&] { fuzz::check_scenario(scenario_file(options), fuzz::choice_of(text)); });
  fuzz::accepts([&] { read_simulate_section(options); });
  fuzz::require(shell_words(options).size() >= options.scenario.size(), "a command that does not name its scenario");
  return 0;
}
