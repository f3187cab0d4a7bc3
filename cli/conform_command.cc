#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "ask/conform/conform.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/driver_file.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/conform_report.h"
#include "scenarios/model_library.h"
#include "scenarios/model_words.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

struct ConformOptions {
  std::string engine;
  std::string python = "python3";
  std::string driver;  ///< empty: that of the engine
  std::map<std::string, std::string> programs;  ///< of engines, by their flags
  std::vector<std::string> models;
  std::int64_t random = 100;
  std::uint64_t seed = 0;
  std::string result_file;  ///< of the result as JSON; empty: none
  std::string record_file;  ///< of the cases as JSON lines; empty: none
  Overwrite overwrite = Overwrite::no;
  OutputOptions output;
};

std::vector<std::string> engines_with_drivers() {
  std::vector<std::string> names;
  for (const Engine* const engine : all_engines())
    if (engine->conformance != nullptr) names.emplace_back(engine->rules->name);
  return names;
}

const Engine& asked_engine(const std::string& name) {
  const EngineRules* const rules = rules_named(name);
  if (rules == nullptr)
    throw InputError(fmt::format("ENGINE {}: no such engine; take one of {}{}", name,
                                 fmt::join(engines_with_drivers(), ", "), did_you_mean(name, release_names())));
  const Engine& engine = engine_of(*rules);
  if (engine.conformance == nullptr)
    throw InputError(not_known_of(*rules, "how {} is asked for its own figures",
                                  fmt::format("take one of {}", fmt::join(engines_with_drivers(), ", ")))
                         .message());
  return engine;
}

/// A model that does not come with us, of a file; how much memory there is and how long requests are every case says.
ModelSpec model_of_file(const std::string& path) {
  ScenarioFile file = load_scenario(path);
  apply_override(file, "engine.memory", "1GiB", "--models");
  apply_override(file, "limits.max_model_len", "1", "--models");
  return read_scenario(file).model;
}

std::vector<ModelSpec> asked_models(const std::vector<std::string>& names, const Conformance& conformance) {
  std::vector<ModelSpec> models;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const ShippedModel& shipped : shipped_models())
        if (can_be_told(shipped.model, conformance)) models.push_back(shipped.model);
      continue;
    }
    if (names_model_file(name)) {
      models.push_back(model_of_file(name));
      continue;
    }
    const ShippedModel* const shipped = find_shipped_model(name);
    if (shipped == nullptr)
      throw InputError(fmt::format("--models {}: no shipped model{}", name, shipped_model_suggestion(name)));
    models.push_back(shipped->model);
  }
  return models;
}

/// An example of every engine that has another driver than the first: releases of one engine share theirs.
std::string other_examples() {
  std::string examples, first;
  for (const Engine* const engine : all_engines()) {
    const Conformance* const asked = engine->conformance;
    if (asked == nullptr) continue;
    if (first.empty()) first = asked->driver;
    if (asked->driver == first) continue;
    const std::string where =
        asked->program_flag.empty() ? "--python venv/bin/python" : fmt::format("{} FILE", asked->program_flag);
    examples += fmt::format("\n  hybridkv conform {} {}", engine->rules->name, where);
  }
  return examples;
}

/// The engine's own program, where its driver runs one; a driver that is named need not.
std::string asked_program(const Engine& engine, const ConformOptions& options) {
  for (const auto& [flag, program] : options.programs)
    if (flag != engine.conformance->program_flag && !program.empty())
      throw InputError(fmt::format("{}: {} is not asked through it; leave it out", flag, engine.rules->title));
  const auto found = options.programs.find(std::string(engine.conformance->program_flag));
  const std::string program = found == options.programs.end() ? "" : found->second;
  if (program.empty() && !engine.conformance->program_flag.empty() && options.driver.empty())
    throw InputError(fmt::format("{} is missing: the program of {}", engine.conformance->program_flag,
                                 engine.rules->title));
  return program;
}

/// The file of a flag, opened before the work; nothing where it was not given.
std::optional<OutputFile> opened(const std::string& path, Overwrite overwrite) {
  if (path.empty()) return std::nullopt;
  refuse_overwriting(path, {overwrite, {}});
  return OutputFile(path);
}

int run_conform(const ConformOptions& options) {
  const Engine& engine = asked_engine(options.engine);
  const std::string driver =
      options.driver.empty() ? driver_file(engine.conformance->driver).string() : options.driver;
  std::optional<OutputFile> result = opened(options.result_file, options.overwrite);
  std::optional<OutputFile> record = opened(options.record_file, options.overwrite);
  // -B: no compiled files are left beside the driver.
  std::vector<std::string> words{options.python, "-B", driver};
  if (const std::string program = asked_program(engine, options); !program.empty()) words.push_back(program);
  const ConformQuestion question{.engine = &engine,
                                 .driver = std::move(words),
                                 .grid = {asked_models(options.models, *engine.conformance), options.random,
                                          options.seed}};
  ConformAnswer answer;
  {
    Progress progress(options.output.quiet);
    answer = conform(
        question,
        [&](const ConformCase& one, std::int64_t done, std::int64_t total) {
          progress.bar(one.model.name, done, total, "cases");
        },
        [&](const nlohmann::ordered_json& line) {
          if (record) record->append(line.dump() + "\n");
        });
  }
  if (record) record->finish();
  if (result) {
    result->append(render_conform(answer, Format::json));
    result->finish();
  }
  write_output(render_conform(answer, options.output.format(), options.output.style()));
  return answer.agrees() ? exit_fine : exit_fault_found;
}

}  // namespace

void add_conform_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "conform", "Ask an installed engine, without a GPU, for the figures we compute, and compare them");
  const auto options = std::make_shared<ConformOptions>();
  command->add_option("ENGINE", options->engine, "the release whose rules are compared")
      ->check(offers({engines_with_drivers()}))
      ->type_name("")
      ->required();
  command
      ->add_option("--python", options->python,
                   "interpreter of the environment that the engine is installed in; default python3")
      ->type_name("FILE");
  for (const Engine* const engine : all_engines()) {
    if (engine->conformance == nullptr || engine->conformance->program_flag.empty()) continue;
    const std::string flag(engine->conformance->program_flag);
    const std::string meaning = fmt::format("program of {}, which is started", engine->rules->title);
    command->add_option(flag, options->programs[flag], meaning)->type_name("FILE");
  }
  command
      ->add_option("--models", options->models,
                   "shipped models or model files, with commas between, or all; default: some of every family")
      ->delimiter(',')
      ->check(offers({{offered_models}, true}))
      ->type_name("NAMES");
  command->add_option("--random", options->random, "random settings beside the grid; default 100")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->type_name("N");
  command->add_option("--seed", options->seed, "of the random settings; default 0")->type_name("N");
  command->add_option("--output,-o", options->result_file, "file for the result as JSON, besides")->type_name("FILE");
  command->add_option("--record", options->record_file, "file for what the engine answered, a case a line of JSON")
      ->type_name("FILE");
  command->add_option("--driver", options->driver, "program that asks the engine; default: the one that comes with us")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  add_output_options(*command, options->output);
  const std::vector<std::string> known = engines_with_drivers();
  command->footer(fmt::format(
      "The engine's own functions are called, none is copied; what stood for a GPU is\n"
      "listed. Exit code 1 where a figure differs, with the rule that it falsifies.\n"
      "docs/conform.md says what has to be installed.\n"
      "\n"
      "Examples:\n"
      "  hybridkv conform {0} --python venv/bin/python\n"
      "  hybridkv conform {0} --python venv/bin/python --models Qwen3.5-4B \\\n"
      "    --random 500 --seed 7 -o conform.json\n"
      "  hybridkv conform {0} --python venv/bin/python --record cases.jsonl{1}",
      known.empty() ? "ENGINE" : known.front(), other_examples()));
  command->callback([options, &action] { action = [options] { return run_conform(*options); }; });
}

}  // namespace hybridkv
