#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>

#include "ask/whose.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/word_behind_scenario.h"
#include "report/plan/whose_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct WhoseOptions {
  ScenarioOptions scenario;
  std::string byte;
  std::int64_t pool = 0;
  OutputOptions output;
};

/// A byte as dumps and debuggers write it: 3145728, 3,145,728, 0x300000, 3MiB. Nothing for what is none.
std::optional<std::int64_t> parse_byte(const std::string& text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    const bool is_whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
    return is_whole ? std::optional(value) : std::nullopt;
  }
  const std::string plain = without_separators(text);
  const ParsedNumber size = parse_size(plain.empty() ? text : plain);
  return size.problem.empty() ? std::optional(size.value) : std::nullopt;
}

std::int64_t read_byte(const std::string& text) {
  if (text.empty()) throw InputError("BYTE is missing: the byte of a pool, from its front, like 3145728 or 0x300000");
  const auto byte = parse_byte(text);
  if (!byte)
    throw InputError(fmt::format("BYTE {}: is no byte of a pool; write it like 3145728, 3,145,728, 0x300000 or 3MiB",
                                 text));
  return *byte;
}

void add_byte(CLI::App& command, WhoseOptions& options) {
  add_word_behind_scenario(command, options.byte,
                           {"BYTE", "of the pool, from its front: 3145728, 0x300000, 3MiB", "one byte is asked for",
                            [](const std::string& word) { return parse_byte(word).has_value(); }});
}

}  // namespace

void add_whose_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "whose", "Say whose a byte of a cache is: group, block, layer, token, head, channel, or padding");
  const auto options = std::make_shared<WhoseOptions>();
  add_scenario_options(*command, options->scenario);
  add_byte(*command, *options);
  command->add_option("--pool", options->pool, "pool in which the byte lies, from 0 on (default: 0)")
      ->type_name("NUMBER");
  add_output_options(*command, options->output);
  command->footer(with_engines("For whoever stares at a dump: pools are the allocations of the plan, in order.\n"
                               "\nExamples:\n"
                               "  hybridkv whose qwen3.5-397b 0x12345678 --pack 5 --pool 2\n"
                               "  hybridkv whose --model Qwen3.5-4B --memory 20GiB --max-model-len 32k 3GiB\n"
                               "  hybridkv whose qwen3.5-397b 123,456,789 --pack 1 --format json | jq .owners"));
  command->callback([options, &action] {
    action = [options] {
      const std::int64_t byte = read_byte(options->byte);
      const WhoseAnswer answer = whose_byte(read_scenario(options->scenario), options->pool, byte);
      write_output(render_whose(answer, options->output.format(), options->output.style()));
      return exit_fine;
    };
  });
}

}  // namespace hybridkv
