#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "ask/simulate_request.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/human.h"
#include "report/simulate_report.h"
#include "simulator/plan_geometry.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace {

struct SimulateOptions {
  ScenarioOptions scenario;  // with the flags that stand for its keys
  SimpleTraffic traffic;
  OutputOptions output;
  // A cache of its own, without a plan.
  std::vector<std::int64_t> block_sizes;
  std::vector<std::int64_t> num_blocks;
  std::optional<std::int64_t> attention_groups;
  std::optional<std::int64_t> state_groups;
  // For both.
  std::optional<std::int64_t> max_batched_tokens;
  std::string per_request;
};

bool is_bare(const SimulateOptions& options) { return !options.block_sizes.empty() || !options.num_blocks.empty(); }

/// What to replay and through which caches.
struct Question {
  Scenario scenario;
  std::vector<CacheGeometry> geometries;
};

/// The flag of a cache without a plan that stands for a field of its geometry; null for the keys of `simulate`.
const char* bare_flag(std::string_view field) {
  constexpr std::pair<const char*, const char*> flags[] = {{"block_size_tokens", "--block-size"},
                                                           {"num_blocks", "--num-blocks"},
                                                           {"attention_groups", "--attention-groups"},
                                                           {"state_groups", "--state-groups"},
                                                           {"max_num_batched_tokens", "--max-batched-tokens"}};
  for (const auto& [name, flag] : flags)
    if (field == name) return flag;
  return nullptr;
}

/// The simulator's error with the place of the scenario's value, or with the flag.
InputError explained(const SpecError& error, const SimulateOptions& options, const Scenario& scenario) {
  constexpr std::string_view prefix = "geometry.";
  const bool of_geometry = error.path().starts_with(prefix);
  const char* const flag = of_geometry ? bare_flag(std::string_view(error.path()).substr(prefix.size())) : nullptr;
  if (flag && is_bare(options)) return InputError(fmt::format("{}: {}", flag, error.message()));
  return located(scenario_error(error), scenario);
}

void refuse_scenario_flags(const SimulateOptions& options) {
  const ScenarioOptions& scenario = options.scenario;
  if (!scenario.scenario.empty() || !scenario.model.empty())
    throw InputError("--block-size describes a cache without a plan; leave out the scenario and --model");
  for (const auto& [flag, value] : given_flags(scenario))
    if (flag != "--mode")
      throw InputError(fmt::format("{} belongs to a plan, --block-size to a cache without one", flag));
  for (const std::string& assignment : scenario.overrides)
    if (!assignment.starts_with("simulate."))
      throw InputError(fmt::format("--set {}: --block-size describes a cache without a plan, which takes only keys of "
                                   "simulate", assignment));
}

/// The product of the listed sizes and modes.
Question bare_question(const SimulateOptions& options) {
  if (options.block_sizes.empty() || options.num_blocks.empty())
    throw InputError("--block-size and --num-blocks describe a cache together; give both, or a scenario");
  refuse_scenario_flags(options);
  Question question{read_simulate_section(options.scenario), {}};
  const std::string& typed = options.scenario.cache_mode;
  for (const std::string& name : typed.empty() ? std::vector<std::string>{"align"} : split_list("--mode", typed)) {
    const auto mode = parse_cache_mode(name);
    if (!mode)
      throw InputError(fmt::format("--mode {}: no such cache mode; take none, align or all{}", name,
                                   did_you_mean(name, {"none", "align", "all"})));
    for (const std::int64_t block : options.block_sizes)
      for (const std::int64_t blocks : options.num_blocks) {
        CacheGeometry geometry{.block_size_tokens = block, .num_blocks = blocks,
                               .attention_groups = options.attention_groups.value_or(1),
                               .state_groups = options.state_groups.value_or(0), .mode = *mode};
        geometry.name = fmt::format("{} x {} {}", block, blocks, geometry.state_groups > 0 ? name : "attention only");
        if (options.max_batched_tokens) geometry.max_num_batched_tokens = *options.max_batched_tokens;
        question.geometries.push_back(with_settings(geometry, question.scenario.simulate));
      }
  }
  return question;
}

Question planned_question(const SimulateOptions& options) {
  if (options.attention_groups || options.state_groups)
    throw InputError(fmt::format("{} belongs to --block-size; the groups of a scenario follow from its model",
                                 options.state_groups ? "--state-groups" : "--attention-groups"));
  if (options.scenario.scenario.empty() && options.scenario.model.empty())
    throw InputError("no cache to simulate: name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b, "
                     "example), give --model NAME --memory SIZE --max-model-len TOKENS, or describe a cache without a "
                     "plan by --block-size and --num-blocks");
  ScenarioOptions with_budget = options.scenario;
  if (options.max_batched_tokens)
    with_budget.flags.push_back({"engine.max_num_batched_tokens", std::to_string(*options.max_batched_tokens),
                                 fmt::format("--max-batched-tokens {}", *options.max_batched_tokens)});
  Question question{read_scenario(with_budget), {}};
  const Scenario& scenario = question.scenario;
  for (const CachePlan& plan : plan_scenario(scenario, scenario.pack_sizes).plans) {
    CacheGeometry geometry;
    try {
      geometry = geometry_of(plan, scenario.engine);
    } catch (const SpecError& error) {
      throw located(error, scenario);
    }
    // Each of several lengths is a question of its own: another one refuses other prompts.
    const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
    for (const std::int64_t length : lengths) {
      geometry.name = fmt::format("N = {}", plan.attention_pack_size);
      if (lengths.size() > 1) geometry.name += fmt::format(", L = {}", human_count(length));
      geometry.max_model_len = length;
      question.geometries.push_back(with_settings(geometry, scenario.simulate));
    }
  }
  return question;
}

/// The files that a simulation reads.
std::vector<std::string> inputs_of(const Scenario& scenario) {
  std::vector<std::string> files = scenario.places.sources();
  files.push_back(scenario.simulate.trace.file);
  return files;
}

/// A trace this short is listed request by request.
void list_requests(SimulateReport& report, SweepSpec& sweep) {
  report.requests.resize(sweep.simulations.size());
  for (std::size_t i = 0; i < sweep.simulations.size(); ++i)
    sweep.simulations[i].on_record = [&listed = report.requests[i]](const RequestRecord& record) {
      if (std::ssize(listed) <= most_listed_requests) listed.push_back(record);
    };
}

/// Reads the trace again where a cache hits nothing, to say why.
void find_repeats(SimulateReport& report, const TraceSpec& trace) {
  std::map<std::optional<std::int64_t>, std::int64_t> longest;  // by max_model_len
  for (const SimulationStats& stats : report.result.stats) {
    const bool asked = stats.hit_tokens == 0 && stats.prompt_tokens > 0 && stats.geometry.caches_prefixes();
    report.longest_repeats.push_back(std::nullopt);
    if (!asked) continue;
    const std::optional<std::int64_t>& limit = stats.geometry.max_model_len;
    if (!longest.contains(limit)) {
      TokenExactBound exact(limit);
      const std::unique_ptr<TraceSource> source = open_trace(trace);
      for (TraceBatch batch; source->next(batch);) exact.consume(batch);
      longest.emplace(limit, exact.longest_hit());
    }
    report.longest_repeats.back() = longest.at(limit);
  }
}

SimulateReport simulate(const SimulateOptions& options, const Question& question) {
  const SimulateRequest& request = question.scenario.simulate;
  SimulateReport report{.trace = describe(request.trace), .driver = request.driver};
  SweepSpec sweep{.upper_bounds = request.upper_bounds};
  for (const CacheGeometry& geometry : question.geometries) {
    validate(geometry);
    sweep.simulations.push_back({.geometry = geometry, .driver = report.driver});
  }
  list_requests(report, sweep);
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  std::optional<OutputFile> rows;
  if (!options.per_request.empty()) {
    refuse_overwriting(options.per_request, inputs_of(question.scenario));
    rows.emplace(options.per_request);
    rows->append(fmt::format("{}\n", request_csv_header));
    auto& on_record = sweep.simulations.front().on_record;
    on_record = [&rows, list = on_record](const RequestRecord& record) {
      list(record);
      rows->append(request_csv_row(record) + "\n");
    };
  }
  {
    Progress progress(options.output.quiet);
    sweep.on_progress = [&](const SweepProgress& at) {
      progress.update("simulate",
                      fmt::format("per cent of the trace, {} requests, {:.0f} a second", at.requests,
                                  at.requests_per_second()),
                      static_cast<int>(100 * at.fraction), 100);
    };
    report.result = run_sweep(*trace, sweep);
  }
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) report.bad_lines = file->bad_lines();
  find_repeats(report, request.trace);
  if (rows) rows->finish();
  return report;
}

int run_simulate(const SimulateOptions& options) {
  const Question question = is_bare(options) ? bare_question(options) : planned_question(options);
  if (!options.per_request.empty() && question.geometries.size() > 1)
    throw InputError(fmt::format("--per-request writes the requests of one cache, here are {}; choose one, say with "
                                 "--pack", question.geometries.size()));
  try {
    write_output(render_simulate(simulate(options, question), options.output.format(), options.output.style()));
  } catch (const SpecError& error) {
    throw explained(error, options, question.scenario);
  }
  return exit_fine;
}

/// Puts the options that were added since `first` under a heading of their own in the help.
void group_since(CLI::App& command, std::size_t first, const char* heading) {
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = first; i < all.size(); ++i) all[i]->group(heading);
}

void add_bare_options(CLI::App& command, SimulateOptions& options) {
  add_list(command, "--block-size", options.block_sizes, "tokens of a block, one or a list", "TOKENS", token_count());
  add_list(command, "--num-blocks", options.num_blocks, "blocks of the pool, the null block included, one or a list",
           "BLOCKS", whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  command.add_option("--attention-groups", options.attention_groups, "full-attention groups (default: 1)")
      ->type_name("N");
  command.add_option("--state-groups", options.state_groups, "recurrent groups (default: 0)")->type_name("N");
}

void add_scheduler_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--max-batched-tokens", options.max_batched_tokens, "most tokens of one step (default: 8192)")
      ->transform(token_count())
      ->type_name("TOKENS");
  add_key(command, options.scenario, "--max-num-seqs", "simulate.max_num_seqs", "N",
          "most running requests (default: 256)");
  add_key(command, options.scenario, "--watermark", "simulate.watermark", "SHARE",
          "share of the pool kept free at admission (default: 0)");
  add_key(command, options.scenario, "--retention", "simulate.retention_interval_tokens", "TOKENS",
          "keep checkpoints at multiples of this, 0 only the last one");
  add_key(command, options.scenario, "--match-unit", "simulate.match_unit_tokens", "TOKENS",
          "find prefixes at multiples of this, a divisor of the block");
  add_switch(command, options.scenario, "--no-branch-point", "simulate.branch_point", "false",
             "no checkpoint where prompts part");
}

void add_replay_options(CLI::App& command, SimulateOptions& options) {
  add_trace_options(command, options.scenario, options.traffic);
  add_key(command, options.scenario, "--requests", "simulate.trace.max_requests", "N",
          "only the first ones (default: all, of a made-up trace 10000, of simple traffic 300)");
}

void add_result_options(CLI::App& command, SimulateOptions& options) {
  add_switch(command, options.scenario, "--upper-bounds", "simulate.upper_bounds", "true",
             "also with an unlimited pool, and matching token by token");
  command
      .add_option("--per-request", options.per_request, "write a line of CSV for every request, in the order they end")
      ->type_name("FILE");
}

}  // namespace

void add_simulate_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Replay a request trace: how much of the traffic hits, how many requests fit");
  const auto options = std::make_shared<SimulateOptions>();
  add_scenario_options(*command, options->scenario);
  const auto add_group = [&](const char* heading, void (*add)(CLI::App&, SimulateOptions&)) {
    const std::size_t first = command->get_options().size();
    add(*command, *options);
    group_since(*command, first, heading);
  };
  add_group("A cache without a plan, in place of a scenario", add_bare_options);
  add_group("Scheduler", add_scheduler_options);
  add_group("Trace", add_replay_options);
  add_group("Driver", [](CLI::App& with, SimulateOptions& to) { add_driver_options(with, to.scenario); });
  add_group("Output", [](CLI::App& with, SimulateOptions& to) {
    add_result_options(with, to);
    add_output_options(with, to.output);
  });
  command->footer(
      "Examples:\n"
      "  hybridkv simulate qwen3.5-397b --pack 1,3,5\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --trace trace.jsonl --upper-bounds\n"
      "  hybridkv simulate qwen3.5-397b --pack 8 --prompt-tokens 370\n"
      "  hybridkv simulate qwen3.5-397b --pack 3 --driver closed-loop --in-flight 32\n"
      "  hybridkv simulate --block-size 272,528,1056 --num-blocks 20000 \\\n"
      "      --state-groups 1 --trace trace.jsonl\n"
      "  hybridkv simulate --block-size 528 --num-blocks 20000 --state-groups 1 \\\n"
      "      --per-request requests.csv\n"
      "\n"
      "Without a plan --mode takes a list, and align is the default. Published results\n"
      "as scenarios: prefix-copies, prefix-second-copies, prefix-block-boundary,\n"
      "prefix-checkpoints, prefix-long-block, null-block-ceiling. Flags win over the\n"
      "section simulate of a scenario, whose keys scenarios/example.yaml explains.");
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      return run_simulate(*options);
    };
  });
}

}  // namespace hybridkv
