#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "ask/start/boot.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "engines/engine.h"
#include "report/boot_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct BootOptions {
  ScenarioOptions scenario;
  std::string gpu, gpu_memory, utilization, weights, beside, available;
  std::optional<std::int64_t> max_num_seqs;
  bool enforce_eager = false;
  OutputOptions output;
};

bool names_gpu(const BootOptions& options) { return !options.gpu.empty() || !options.gpu_memory.empty(); }

/// A size of a flag, in bytes.
std::int64_t size_of(const char* flag, const std::string& text) {
  const ParsedNumber size = parse_size(text);
  if (!size.problem.empty())
    throw InputError(fmt::format("{} {}: {}; write it like 26.5GiB", flag, text, size.problem));
  return size.value;
}

/// As the engine prints it: GiB with two decimals. What has no unit and a point is meant so.
std::string printed_size(const std::string& text) {
  const bool is_plain = text.find_first_not_of("0123456789.") == std::string::npos;
  return is_plain && text.find('.') != std::string::npos ? text + " GiB" : text;
}

GpuQuestion gpu_question(const BootOptions& options) {
  GpuQuestion question{.gpu = options.gpu.empty() ? unnamed_gpu(0) : find_gpu(options.gpu)};
  if (!options.gpu_memory.empty()) question.gpu.total_bytes = size_of("--gpu-memory", options.gpu_memory);
  if (!options.weights.empty()) question.weights_bytes = size_of("--weights", options.weights);
  if (!options.beside.empty()) question.beside_bytes = size_of("--beside", options.beside);
  if (options.utilization.empty()) return question;
  const ParsedReal share = parse_real(options.utilization);
  if (!share.problem.empty() || share.value <= 0 || share.value > 1)
    throw InputError(fmt::format("--utilization {}: is no share of the GPU; write it like 0.9", options.utilization));
  question.utilization = share.value;
  return question;
}

void refuse_without_gpu(const BootOptions& options) {
  for (const auto& [flag, value] : {std::pair("--weights", options.weights), std::pair("--beside", options.beside),
                                    std::pair("--utilization", options.utilization)})
    if (!value.empty())
      throw InputError(fmt::format("{} belongs to --gpu NAME or --gpu-memory SIZE, which are missing", flag));
}

/// The memory of the cache is typed once.
void refuse_two_memories(const BootOptions& options) {
  std::vector<std::string> given;
  const auto add = [&](const char* flag, bool is_given) {
    if (is_given) given.emplace_back(flag);
  };
  add(options.gpu.empty() ? "--gpu-memory" : "--gpu", names_gpu(options));
  add("--available-memory", !options.available.empty());
  add("--memory", !options.scenario.memory.empty());
  const std::vector<std::string>& set = options.scenario.overrides;
  add("--set engine.memory", std::any_of(set.begin(), set.end(), [](const std::string& assignment) {
        return assignment.starts_with("engine.memory=");
      }));
  if (given.size() > 1 && !(given[0] == "--memory" && given[1] == "--set engine.memory"))
    throw InputError(fmt::format("{} gives the memory of the cache, and so does {}; leave one of them out", given[0],
                                 given[1]));
}

/// The flags as they were typed, for commands to try.
std::vector<TypedFlag> typed_flags(const BootOptions& options) {
  std::vector<TypedFlag> typed;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) typed.emplace_back(flag, shell_word(value));
  };
  for (const std::string& assignment : options.scenario.overrides) add("--set", assignment);
  for (const auto& [flag, value] : given_flags(options.scenario)) add(flag.c_str(), value);
  add("--gpu", options.gpu);
  add("--gpu-memory", options.gpu_memory);
  add("--utilization", options.utilization);
  add("--weights", options.weights);
  add("--beside", options.beside);
  add("--available-memory", options.available);
  if (options.max_num_seqs) add("--max-num-seqs", std::to_string(*options.max_num_seqs));
  if (options.enforce_eager) typed.emplace_back("--enforce-eager", "");
  return typed;
}

/// The options with what the command that starts the engine says beside the cache; flags win.
BootOptions with_command(BootOptions options) {
  const KeyValues& said = options.scenario.boot;
  if (const auto share = said.find("boot.utilization");
      share != said.end() && options.utilization.empty() && names_gpu(options))
    options.utilization = share->second;
  if (const auto seqs = said.find("boot.max_num_seqs"); seqs != said.end() && !options.max_num_seqs) {
    const ParsedNumber number = parse_whole(seqs->second, NumberForm::plain);
    if (!number.problem.empty() || number.value < 1)
      throw InputError(fmt::format("--max-num-seqs {}: must be a whole number from 1 on", seqs->second));
    options.max_num_seqs = number.value;
  }
  if (said.contains("boot.enforce_eager")) options.enforce_eager = true;
  return options;
}

int run_boot(const BootOptions& typed) {
  const BootOptions options = with_command(typed);
  BootQuestion question;
  ScenarioOptions scenario = options.scenario;
  const auto set = [&](const char* key, const std::string& value, const std::string& shown) {
    if (!value.empty()) scenario.flags.push_back({key, value, shown});
  };
  refuse_two_memories(options);
  if (names_gpu(options)) {
    question.gpu = gpu_question(options);
    set("engine.memory", std::to_string(question.gpu->gpu.total_bytes),
        options.gpu_memory.empty() ? "--gpu " + options.gpu : "--gpu-memory " + options.gpu_memory);
  } else {
    refuse_without_gpu(options);
  }
  if (!options.available.empty()) {
    const std::string size = printed_size(options.available);
    question.printed_memory = size_of("--available-memory", size);
    set("engine.memory", std::to_string(*question.printed_memory), "--available-memory " + options.available);
  }
  question.file = scenario_file(scenario);
  question.max_num_seqs = options.max_num_seqs;
  question.enforce_eager = options.enforce_eager;
  question.scenario_word = options.scenario.scenario.empty() ? "" : shell_word(options.scenario.scenario);
  question.typed = typed_flags(options);
  const BootAnswer answer = boot(question);
  write_output(render_boot(answer, options.output.format(), options.output.style()));
  return answer.boots() ? exit_fine : exit_no_resources;
}

void add_memory_options(CLI::App& command, BootOptions& options) {
  command
      .add_option("--available-memory", options.available,
                  "memory of the cache on one rank as the engine prints it: \"40.00 GiB\"")
      ->type_name("SIZE");
  std::vector<std::string> gpus;
  for (const Gpu& gpu : known_gpus()) gpus.emplace_back(gpu.name);
  command.add_option("--gpu", options.gpu, fmt::format("in its place a GPU: {}", fmt::join(gpus, ", ")))
      ->check(offers({gpus}))
      ->type_name("NAME");
  command.add_option("--gpu-memory", options.gpu_memory, "memory of any other GPU, or of that one as its driver has it")
      ->type_name("SIZE");
  command.add_option("--utilization", options.utilization, "share of the GPU that may be taken (default: 0.9)")
      ->type_name("SHARE");
  command
      .add_option("--weights", options.weights,
                  "what the weights take on one rank, as an engine prints it (default: counted from the model's "
                  "parameters)")
      ->type_name("SIZE");
  command
      .add_option("--beside", options.beside,
                  "what activations, graphs and the rest take beside them (default: estimated)")
      ->type_name("SIZE");
}

}  // namespace

void add_boot_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("boot", "Say whether an engine will start, what it prints, what fails first");
  const auto options = std::make_shared<BootOptions>();
  add_scenario_options(*command, options->scenario);
  describe_one_pack(*command);
  describe_one_length(*command);
  add_memory_options(*command, *options);
  command
      ->add_option("--max-num-seqs", options->max_num_seqs,
                   "most running requests (default: the scenario's, else as an engine has it on the GPU, else 256)")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command->add_flag("--enforce-eager", options->enforce_eager, "no graphs are captured");
  add_output_options(*command, options->output);
  command->footer(with_engines(
      "Examples:\n"
      "  hybridkv boot --model Qwen3.5-397B-A17B --tp 2 --max-model-len 32k \\\n"
      "      --available-memory 40GiB\n"
      "  hybridkv boot --model Qwen3.5-27B --max-model-len 128k --gpu H100 \\\n"
      "      --weights 51.5GiB --max-num-seqs 256\n"
      "  hybridkv boot --model Qwen3-Next-80B-A3B --tp 4 --gpu-memory 96GB \\\n"
      "      --max-model-len 128k\n"
      "  hybridkv boot qwen3.5-397b --engine {today} --format json\n"
      "\n"
      "docs/boot.md says what is estimated. The exit code is 3 where it does not boot."));
  command->callback([options, &action] { action = [options] { return run_boot(*options); }; });
}

}  // namespace hybridkv
