#include "cli/destination_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask/typed_list.h"
#include "base/error.h"
#include "cli/values.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

/// The other side: a scenario of its own, or the first with what was typed for it laid over. Flags are of the first.
ScenarioFile destination_file(const ScenarioOptions& from, const DestinationOptions& options, const char* shown) {
  ScenarioFile file = options.to.empty() ? scenario_file(from) : load_scenario(options.to);
  if (!options.to.empty() && file.is_model_alone)
    throw InputError(fmt::format("{} {}: is a model; name a scenario, or leave it out and say what differs: --to-set "
                                 "engine.tensor_parallel=8",
                                 shown, options.to));
  for (const std::string& assignment : options.to_set) apply_override(file, assignment, "--to-set");
  return file;
}

/// One pack is planned; which, where a file has several. Several that were typed are refused.
void show_packs(const TransferQuestion& question, bool is_one_scenario) {
  const auto note = [](const char* side, const Scenario& scenario, const char* flag) {
    show_notes({fmt::format("{}: N = {}, the first of {}; choose with {}", side, scenario.pack_sizes.front(),
                            fmt::join(scenario.pack_sizes, ", "), flag)});
  };
  const auto has_several = [](const Scenario& scenario) {
    return scenario.pack_sizes.size() > 1 &&
           !is_typed_list(scenario, "engine.attention_pack_size", scenario.pack_sizes);
  };
  const bool same = is_one_scenario && question.from.pack_sizes == question.to.pack_sizes;
  if (has_several(question.from)) note(same ? "both sides" : "FROM", question.from, "--pack N");
  if (has_several(question.to) && !same) note("TO", question.to, "--to-set engine.attention_pack_size=N");
}

}  // namespace

void add_destination_options(CLI::App& command, DestinationOptions& options) {
  command
      .add_option("--to-set", options.to_set, "override a value of the side it goes to; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--tokens", options.tokens,
                  "of the request, 32768 or 32k (default: the longest max_model_len of the source)")
      ->transform(token_count())
      ->type_name("TOKENS");
}

TransferQuestion transfer_question(const ScenarioOptions& from, const DestinationOptions& to, const char* shown) {
  TransferQuestion question{.from = read_scenario(from), .to = read_scenario(destination_file(from, to, shown))};
  std::vector<std::string> notes;
  for (const std::string& note : question.to.notes)
    if (std::find(question.from.notes.begin(), question.from.notes.end(), note) == question.from.notes.end())
      notes.push_back(note);
  show_notes(notes);
  show_packs(question, to.to.empty());
  if (!to.tokens.empty()) question.tokens = std::stoll(to.tokens);
  return question;
}

}  // namespace hybridkv
