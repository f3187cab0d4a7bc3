#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "ask/start/boot.h"
#include "ask/start/boot_words.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/kernel_options.h"
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
  BootWords words;
  std::vector<std::string> kernels;  ///< files of their cards
  OutputOptions output;
};

/// The memory of the cache is typed once.
void refuse_two_memories(const BootOptions& options) {
  std::vector<std::string> given;
  const auto add = [&](const char* flag, bool is_given) {
    if (is_given) given.emplace_back(flag);
  };
  add(options.words.gpu.empty() ? "--gpu-memory" : "--gpu", options.words.names_gpu());
  add("--available-memory", !options.words.available.empty());
  add("--memory", !options.scenario.memory.empty());
  const std::vector<std::string>& set = options.scenario.overrides;
  add("--set engine.memory", std::any_of(set.begin(), set.end(), [](const std::string& assignment) {
        return assignment.starts_with("engine.memory=");
      }));
  if (given.size() > 1 && !(given[0] == "--memory" && given[1] == "--set engine.memory"))
    throw InputError(fmt::format("{} gives the memory of the cache, and so does {}; leave one of them out", given[0],
                                 given[1]));
}

/// The options with what the command that starts the engine says beside the cache; flags win.
BootOptions with_command(BootOptions options) {
  const KeyValues& said = options.scenario.boot;
  BootWords& words = options.words;
  if (const auto share = said.find("boot.utilization");
      share != said.end() && words.utilization.empty() && words.names_gpu())
    words.utilization = share->second;
  if (const auto seqs = said.find("boot.max_num_seqs"); seqs != said.end() && !words.max_num_seqs) {
    const ParsedNumber number = parse_whole(seqs->second, NumberForm::plain);
    if (!number.problem.empty() || number.value < 1)
      throw InputError(fmt::format("--max-num-seqs {}: must be a whole number from 1 on", seqs->second));
    words.max_num_seqs = number.value;
  }
  if (said.contains("boot.enforce_eager")) words.enforce_eager = true;
  return options;
}

int run_boot(const BootOptions& typed) {
  const BootOptions options = with_command(typed);
  BootQuestion question;
  ScenarioOptions scenario = options.scenario;
  refuse_two_memories(options);
  if (const std::optional<SaidMemory> memory = take_words(question, options.words))
    scenario.flags.push_back({"engine.memory", std::to_string(memory->bytes), memory->shown});
  question.file = scenario_file(scenario);
  question.scenario_word = options.scenario.scenario.empty() ? "" : shell_word(options.scenario.scenario);
  question.typed = typed_flags(command_words(options.scenario), options.words);
  question.kernels = read_kernel_cards(options.kernels);
  if (!options.kernels.empty()) question.typed.emplace_back("--kernels", shell_list(options.kernels));
  const BootAnswer answer = boot(question);
  write_output(render_boot(answer, options.output.format(), options.output.style()));
  return answer.boots() ? exit_of_kernels(answer.kernels()) : exit_no_resources;
}

void add_memory_options(CLI::App& command, BootWords& words) {
  command
      .add_option("--available-memory", words.available,
                  "memory of the cache on one rank as the engine prints it: \"40.00 GiB\"")
      ->type_name("SIZE");
  std::vector<std::string> gpus;
  for (const Gpu& gpu : known_gpus()) gpus.emplace_back(gpu.name);
  command.add_option("--gpu", words.gpu, fmt::format("in its place a GPU: {}", fmt::join(gpus, ", ")))
      ->check(offers({gpus}))
      ->type_name("NAME");
  command.add_option("--gpu-memory", words.gpu_memory, "memory of any other GPU, or of that one as its driver has it")
      ->type_name("SIZE");
  command.add_option("--utilization", words.utilization, "share of the GPU that may be taken (default: 0.9)")
      ->type_name("SHARE");
  command
      .add_option("--weights", words.weights,
                  "what the weights take on one rank, as an engine prints it (default: counted from the model's "
                  "parameters)")
      ->type_name("SIZE");
  command
      .add_option("--beside", words.beside,
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
  add_memory_options(*command, options->words);
  command
      ->add_option("--max-num-seqs", options->words.max_num_seqs,
                   "most running requests (default: the scenario's, else as an engine has it on the GPU, else 256)")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command->add_flag("--enforce-eager", options->words.enforce_eager, "no graphs are captured");
  add_kernels_option(*command, options->kernels);
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
      "  hybridkv boot qwen3.5-397b --kernels mine.card.json\n"
      "\n"
      "docs/boot.md says what is estimated. The exit code is 3 where it does not boot,\n"
      "else 1 where a kernel of --kernels would silently corrupt the cache, else 0."));
  command->callback([options, &action] { action = [options] { return run_boot(*options); }; });
}

}  // namespace hybridkv
