#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "ask/compare/compare_settings.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "report/engine_answers.h"

namespace hybridkv {

/// Adds --engines LIST, several releases in place of the one of --engine. Pre: --engine is there.
void add_engines_option(CLI::App& command, ScenarioOptions& options);

/// The releases of a list "a,b", all of them for "all". Throws InputError for one that does not exist.
std::vector<std::string> engine_names(const std::string& list);

/// The same as the key and the YAML list that they are, for commands that vary keys.
FlagValue varied_releases(const std::string& list);

/// The scenario under each release of --engines, which is given. Throws InputError as compare_settings.
std::vector<CompareSetting> engine_settings(const ScenarioOptions& options);

/// The same for commands that take one setting too: under each release where --engines is given, for each combination
/// of lists where there are some.
std::vector<CompareSetting> any_settings(const ScenarioOptions& options);

/// Says on standard error what was assumed of the models of these settings, each once.
void show_notes(const std::vector<CompareSetting>& settings);

/// The answers under each release of --engines, which is given. A release that refuses the question says so in its
/// place. `answer`: the rendered text for a release, given the options with it. Throws InputError where --engines
/// cannot be followed, and where all refuse: the refusal where it is one and the same, else all of them.
std::vector<EngineAnswer> engine_answers(const ScenarioOptions& options,
                                         const std::function<std::string(const ScenarioOptions&)>& answer);

/// What a command writes to standard output: its answer, or where --engines is given that of each release.
void write_answers(const ScenarioOptions& options, const OutputOptions& output,
                   const std::function<std::string(const ScenarioOptions&)>& answer);

}  // namespace hybridkv
