#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

bool has_flag(const CLI::App& command, const std::string& flag) {
  const std::vector<std::string> flags = flags_of(command);
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

/// "plan", "plan and sweep", "plan, verify and sweep".
std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known = command_names(app);
  known.insert(known.end(), {"help", "--help", "--version"});
  const std::string meant = did_you_mean(word, known);
  if (!meant.empty()) return fmt::format("there is no command {}{}", in_quotes(word), meant);
  const bool is_file = word.find_first_of("./") != std::string::npos;
  return fmt::format("there is no command {}; {}", in_quotes(word),
                     is_file ? fmt::format("to plan it: hybridkv plan {}", word)
                             : fmt::format("commands: {}", fmt::join(command_names(app), ", ")));
}

/// A flag of vLLM, and what asks for the same here.
struct EngineFlag {
  const char* flag;
  const char* here;
};
constexpr EngineFlag engine_flags[] = {
    {"--tensor-parallel", "--tp RANKS"},
    {"--tensor-parallel-size", "--tp RANKS"},
    {"--attn-pack-size", "--pack N"},
    {"--attention-pack-size", "--pack N"},
    {"--kv-cache-dtype", "--kv-dtype DTYPE"},
    {"--mamba-ssm-cache-dtype", "--ssm-dtype DTYPE"},
    {"--mamba-cache-mode", "--mode MODE"},
    {"--enable-prefix-caching", "--mode align"},
    {"--no-enable-prefix-caching", "--mode none"},
    {"--kv-cache-memory-bytes", "--memory SIZE"},
    {"--gpu-memory-utilization", "--utilization SHARE"},
    {"--gpu-memory-utilization", "--memory SIZE, of the pools alone"},
    {"--block-size", "--set engine.block_size_tokens=TOKENS"},
    {"--max-num-batched-tokens", "--set engine.max_num_batched_tokens=TOKENS"},
    {"--num-gpu-blocks-override", "--set engine.num_blocks=BLOCKS"},
    {"--num-speculative-tokens", "--set engine.speculative_tokens=N"},
    {"--prefix-match-unit", "--match-unit TOKENS"},
    {"--prefix-cache-retention-interval", "--retention TOKENS"},
};

/// What a command has for a flag of vLLM; null for other flags, and where it has nothing.
const char* own_form(const CLI::App& command, const std::string& flag) {
  for (const EngineFlag& known : engine_flags) {
    const std::string here = known.here;
    if (flag == known.flag && has_flag(command, here.substr(0, here.find(' ')))) return known.here;
  }
  return nullptr;
}

/// `command` is the app itself for a flag before any command.
std::string unknown_flag(const CLI::App& app, const CLI::App& command, const std::string& flag) {
  std::vector<std::string> having;
  for (const CLI::App* other : app.get_subcommands({}))
    if (has_flag(*other, flag)) having.push_back(other->get_name());
  const std::string of = &command == &app ? "hybridkv" : command.get_name();
  if (const char* const here = own_form(command, flag))
    return fmt::format("{} has no flag {}; here it is {}", of, flag, here);
  std::string way_out = did_you_mean(flag, flags_of(command));
  if (!having.empty() && &command == &app)
    way_out = fmt::format(" before a command; write it behind one: {}", listed(having));
  else if (!having.empty())
    way_out = fmt::format("; {} {} it", listed(having), having.size() == 1 ? "has" : "have");
  return fmt::format("{} has no flag {}{}", of, flag, way_out);
}

/// Looks at every long flag up to a lone "--".
std::string check_flags(const CLI::App& app, const CLI::App& command, const std::vector<std::string>& words,
                        std::size_t first) {
  for (std::size_t i = first; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::string flag = words[i].substr(0, words[i].find('='));
    if (!has_flag(command, flag)) return unknown_flag(app, command, flag);
  }
  return {};
}

}  // namespace

std::vector<std::string> command_words(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  if (words.size() == 1) return {"--help"};
  return {words[1], "--help"};
}

std::string usage_problem(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.front().starts_with("-")) {
    const std::string& flag = words.front();
    const bool known = flag == "-h" || has_flag(app, flag.substr(0, flag.find('=')));
    return known ? std::string() : unknown_flag(app, app, flag);
  }
  const CLI::App* const command = find_command(app, words.front());
  return command ? check_flags(app, *command, words, 1) : unknown_command(app, words.front());
}

std::string help_advice(const CLI::App& app, const std::vector<std::string>& words) {
  const bool has_command = !words.empty() && find_command(app, words.front());
  return fmt::format("`hybridkv {}--help` shows what there is.", has_command ? words.front() + " " : "");
}

std::string first_steps() {
  return "hybridkv plans, proves and replays KV-cache layouts of hybrid models.\n"
         "\n"
         "To begin with:\n"
         "  hybridkv models                    the models that come with it\n"
         "  hybridkv plan --model Qwen3.5-4B --memory 40GiB --max-model-len 32k\n"
         "                                     the layout of a model in that memory\n"
         "  hybridkv verify qwen3.5-397b       prove a layout on real tensors\n"
         "\n"
         "`hybridkv help` lists all commands, `hybridkv help plan` explains one.";
}

}  // namespace hybridkv
