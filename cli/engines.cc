#include "cli/engines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/add_once.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "planner/engine_rules.h"

namespace hybridkv {

namespace {

/// One refusal for all where all have it, else a line each.
std::string refusals_text(const std::vector<EngineAnswer>& answers) {
  const std::string& first = answers.front().refused;
  if (std::all_of(answers.begin(), answers.end(), [&](const EngineAnswer& one) { return one.refused == first; }))
    return first;
  std::string text = "no engine answers:";
  for (const EngineAnswer& answer : answers) text += fmt::format("\n  {}: {}", answer.release, answer.refused);
  return text;
}

}  // namespace

void add_engines_option(CLI::App& command, ScenarioOptions& options) {
  command.add_option("--engines", options.engines, "several of --engine, each answers; or all of them: all")
      ->excludes("--engine")
      ->check(offers({{offered_words_of("engine.release"), "all"}, true}))
      ->type_name("LIST");
}

std::vector<std::string> engine_names(const std::string& list) {
  const std::vector<std::string> known = release_names();
  if (list == "all") return known;
  std::vector<std::string> names;
  std::vector<std::string> typed;
  try {
    typed = split_list("--engines", list);
  } catch (const CLI::ValidationError& error) {
    throw InputError(error.what());
  }
  for (const std::string& name : typed) {
    if (!rules_named(name))
      throw InputError(fmt::format("--engines {}: no such release; take some of {}, or all{}", name,
                                   fmt::join(known, ", "), did_you_mean(name, known)));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

FlagValue varied_releases(const std::string& list) {
  return {"engine.release", fmt::format("[{}]", fmt::join(engine_names(list), ", ")), "--engines " + list};
}

namespace {

std::vector<CompareSetting> settings_of(const ScenarioOptions& options, std::size_t fewest) {
  ScenarioOptions varied = options;
  std::vector<std::string> keys;
  if (!options.engines.empty()) {
    const FlagValue releases = varied_releases(options.engines);
    varied.flags.push_back(releases);
    keys.push_back(releases.key);
  }
  std::vector<CompareSetting> settings = compare_settings({scenario_file(varied)}, keys, fewest);
  show_notes(settings);
  return settings;
}

}  // namespace

std::vector<CompareSetting> engine_settings(const ScenarioOptions& options) {
  return settings_of(options, fewest_settings);
}

std::vector<CompareSetting> any_settings(const ScenarioOptions& options) { return settings_of(options, 1); }

void show_notes(const std::vector<CompareSetting>& settings) {
  std::vector<std::string> notes;
  for (const CompareSetting& setting : settings)
    for (const std::string& note : setting.scenario.notes)
      add_once(notes, note);
  show_notes(notes);
}

std::vector<EngineAnswer> engine_answers(const ScenarioOptions& options,
                                         const std::function<std::string(const ScenarioOptions&)>& answer) {
  for (const std::string* const file : {&options.scenario, &options.model})
    if (*file == standard_input)
      throw InputError("--engines: standard input can be read once, and every engine is asked; give a file");
  for (const FlagValue& flag : options.flags)
    if (flag.shown == "--trace -")
      throw InputError("--trace -: standard input can be read once, and every engine replays the trace; give a file");
  std::vector<EngineAnswer> answers;
  for (const std::string& release : engine_names(options.engines)) {
    ScenarioOptions one = options;
    one.release = release;
    EngineAnswer& under = answers.emplace_back(EngineAnswer{release, {}, {}});
    try {
      under.text = answer(one);
    } catch (const InputError& error) {
      under.refused = error.what();
    }
  }
  if (std::none_of(answers.begin(), answers.end(), [](const EngineAnswer& one) { return one.refused.empty(); }))
    throw InputError(refusals_text(answers));
  return answers;
}

void write_answers(const ScenarioOptions& options, const OutputOptions& output,
                   const std::function<std::string(const ScenarioOptions&)>& answer) {
  write_output(options.engines.empty()
                   ? answer(options)
                   : render_engine_answers(engine_answers(options, answer), output.format(), output.style()));
}

}  // namespace hybridkv
