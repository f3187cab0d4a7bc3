#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ask/clock/load_curve.h"
#include "ask/fleet/fleet.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/policy_library.h"
#include "ask/replay/record.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_bounds.h"
#include "ask/replay/simulate_request.h"
#include "audit/event_writer.h"
#include "audit/recording_fault.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/bare_options.h"
#include "cli/clock_options.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/fleet_options.h"
#include "cli/help_format.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/replay_progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "clock/forward_file.h"
#include "clock/shape_counter.h"
#include "engines/engine.h"
#include "report/fleet/fleet_report.h"
#include "report/replay/load_report.h"
#include "report/replay/simulate_report.h"
#include "simulator/record_csv.h"

namespace hybridkv {

namespace {

struct SimulateOptions {
  ScenarioOptions scenario;  // with the flags that stand for its keys
  SimpleTraffic traffic;
  OutputOptions output;
  BareOptions bare;  // a cache of its own, without a plan
  ClockOptions clock;
  FleetOptions fleet;
  std::optional<std::int64_t> max_batched_tokens;
  std::string per_request;
  std::string record, record_fault;
  std::string shapes;
  std::string policy, policy_settings;  // a library with a policy of the user's own; empty: none
  Overwrite overwrite = Overwrite::no;
};

/// What to replay, and where its values stand.
struct Question {
  Scenario scenario;
  std::vector<AnyCache> caches;
  bool is_planned = false;  // are the caches those of plans?
  std::optional<TimedAnswer> timed;  // where it goes by a clock
};

/// The simulator's error with the place of the scenario's value, or with the flag.
InputError explained(const SpecError& error, const SimulateOptions& options, const Scenario& scenario) {
  if (const char* const of_fleet = given_fleet_flag(error.path(), options.fleet))
    return InputError(fmt::format("{}: {}", of_fleet, error.message()));
  const char* const flag = bare_flag(error.path());
  if (flag && bare_flag_given(options.bare)) return InputError(fmt::format("{}: {}", flag, error.message()));
  return located(scenario_error(error), scenario);
}

void refuse_scenario_flags(const SimulateOptions& options) {
  const ScenarioOptions& scenario = options.scenario;
  const char* const bare = bare_flag_given(options.bare);
  if (!scenario.scenario.empty() || !scenario.model.empty())
    throw InputError(fmt::format("{} describes a cache without a plan; leave out the scenario and --model", bare));
  for (const auto& [flag, value] : given_flags(scenario))
    if (flag != "--mode" || !has_blocks(options.bare))
      throw InputError(fmt::format("{} belongs to a plan, {} to a cache without one", flag, bare));
  for (const std::string& assignment : scenario.overrides)
    if (!assignment.starts_with("simulate."))
      throw InputError(fmt::format("--set {}: {} describes a cache without a plan, which takes only keys of simulate",
                                   assignment, bare));
}

/// Puts the policy of the user's own in the place of that of the scenario.
void take_policy(const SimulateOptions& options, SimulateRequest& request) {
  if (!options.policy.empty())
    request.scheduler.own_policy = policy_of_library(options.policy, options.policy_settings);
  else if (!options.policy_settings.empty())
    throw InputError("--policy-settings: they belong to a policy of your own; give its library by --policy");
}

Question bare_question(const SimulateOptions& options) {
  refuse_scenario_flags(options);
  refuse_clock(options.clock);
  Question question{read_simulate_section(options.scenario), {}, false, {}};
  take_policy(options, question.scenario.simulate);
  question.caches = described_caches(options.bare, {options.scenario.cache_mode, options.max_batched_tokens},
                                     question.scenario.simulate);
  return question;
}

Question planned_question(const SimulateOptions& options) {
  refuse_bare_settings(options.bare);
  if (options.scenario.scenario.empty() && options.scenario.model.empty())
    throw InputError("no cache to simulate: name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b, "
                     "example), give --model NAME --memory SIZE --max-model-len TOKENS, or describe a cache without a "
                     "plan by --block-size and --num-blocks");
  ScenarioOptions with_budget = options.scenario;
  if (options.max_batched_tokens)
    with_budget.flags.push_back({"engine.max_num_batched_tokens", std::to_string(*options.max_batched_tokens),
                                 fmt::format("--max-batched-tokens {}", *options.max_batched_tokens)});
  Question question{read_scenario_on(with_budget, options.clock), {}, true, {}};
  take_policy(options, question.scenario.simulate);
  question.caches = planned_caches(question.scenario);
  // Asked for in so many words, one at a time is a closed loop; where nobody says, requests come by their times.
  DriverSpec& driver = question.scenario.simulate.driver;
  const std::vector<FlagValue>& flags = options.scenario.flags;
  const bool says_driver = std::any_of(flags.begin(), flags.end(),
                                       [](const FlagValue& flag) { return flag.key == "simulate.driver"; });
  if (question.scenario.simulate.clock.is_asked() && says_driver && driver.kind == DriverKind::one_at_a_time)
    driver = {.kind = DriverKind::closed_loop, .in_flight = 1, .cost = driver.cost};
  question.timed = set_clock(question.scenario, question.caches.front());
  return question;
}

/// The file of --record, whose events go through --record-fault where there is one.
class RecordFile {
 public:
  RecordFile(const SimulateOptions& options, const Question& question)
      : fault_(options.record_fault.empty() ? nullptr : find_recording_fault(options.record_fault)),
        fault_name_(options.record_fault) {
    const Recording recording =
        recording_of_run(question.caches.front(), question.is_planned ? &question.scenario : nullptr);
    refuse_overwriting(options.record, {options.overwrite, inputs_of(question.scenario)});
    file_.emplace(options.record);
    if (fault_)
      planter_.emplace(recording, *fault_, [this](const RecordedEvent& event) { write(event); });
    file_->append(recording_line(planter_ ? planter_->recording() : recording));
  }

  void consume(const RecordedEvent& event) {
    if (planter_)
      planter_->consume(event);
    else
      write(event);
  }
  void finish() {
    if (planter_ && !planter_->is_planted())
      throw InputError(fmt::format("--record-fault {}: no event of this run has a place for it, so nothing is written; "
                                   "let requests run beside each other and decode, say by --driver closed_loop "
                                   "--in-flight 8, or replay more of them", fault_name_));
    file_->finish();
  }

 private:
  void write(const RecordedEvent& event) { file_->append(recording_line(event)); }

  const RecordingFault* fault_;
  std::string fault_name_;
  std::optional<OutputFile> file_;
  std::optional<FaultPlanter> planter_;
};

/// The steps of the replay that take most of its time, and such as tell the numbers of a clock apart. What to do with
/// them is said on standard error.
void write_shapes(const SimulateOptions& options, const Question& question, const ShapeCounter& counter) {
  constexpr std::size_t most_counted = 12;
  const CacheGeometry& cache = std::get<CacheGeometry>(question.caches.front());
  std::vector<StepShape> shapes = counter.most(most_counted);
  const std::int64_t longest = cache.scheduler.max_model_len.value_or(question.scenario.limits.max_model_lens.front());
  for (const StepShape& shape : telling_shapes(cache.scheduler.most_running(), longest, cache.speculative_tokens))
    if (std::none_of(shapes.begin(), shapes.end(), [&](const StepShape& one) { return one.parts == shape.parts; }))
      shapes.push_back(shape);
  refuse_overwriting(options.shapes, {options.overwrite, inputs_of(question.scenario)});
  write_file(options.shapes, shapes_text(shapes));
  const auto command = engine_of(rules_of(question.caches.front())).clock->forward;
  show_notes({fmt::format("{} has {} steps of this replay and such as tell a clock's numbers apart; measure them by\n  "
                          "{}\nand give the result to hybridkv calibrate --forward forward.json", options.shapes,
                          shapes.size(), command(question.scenario.model.name, options.shapes, "forward.json"))});
}

/// Throws InputError where --shapes cannot be answered.
void check_shapes(const SimulateOptions& options, const Question& question) {
  if (options.shapes.empty()) return;
  if (!question.timed) throw InputError("--shapes chooses steps by the time they take; say on what by --gpu NAME");
  if (question.caches.size() > 1)
    throw InputError(fmt::format("--shapes writes the steps of one cache, here are {}; choose one, say with --pack",
                                 question.caches.size()));
  const Engine& engine = engine_of(rules_of(question.caches.front()));
  if (!std::holds_alternative<CacheGeometry>(question.caches.front()) || engine.clock->forward == nullptr)
    throw InputError(fmt::format("--shapes is for a benchmark of single steps, which {} does not have; calibrate by "
                                 "load tests, hybridkv calibrate --bench", engine.rules->title));
}

/// The answer, with the requests of the first cache written to the file that was asked for.
SimulateAnswer replayed(const SimulateOptions& options, const Question& question) {
  const SimulateRequest& request = question.scenario.simulate;
  const AnyCache& first = question.caches.front();
  std::optional<OutputFile> rows;
  std::optional<RecordFile> recording;
  if (!options.record.empty()) recording.emplace(options, question);
  Progress progress(options.output.quiet);
  SimulateWatch watch;
  // Other engines' requests are given their times once it is known what was found of all.
  const bool timed_rows = question.timed && std::holds_alternative<CacheGeometry>(first);
  if (!options.per_request.empty()) {
    watch.on_start = [&] {
      refuse_overwriting(options.per_request, {options.overwrite, inputs_of(question.scenario)});
      rows.emplace(options.per_request);
      rows->append(fmt::format("{}{}{}\n", record_csv_header(first), timed_rows ? times_csv_names : "",
                               request.losses ? loss_csv_names() : ""));
    };
    watch.on_record = [&](const RecordView& record, const ReuseLoss* loss) {
      const auto* const block = timed_rows ? std::get<const RequestRecord*>(record) : nullptr;
      rows->append(record_csv_row(first, record) + (block ? times_csv_fields(*block) : "") +
                   (loss ? loss_csv_fields(*loss) : "") + "\n");
    };
  }
  if (recording) watch.on_event = [&](const RecordedEvent& event) { recording->consume(event); };
  std::optional<ShapeCounter> shapes;
  if (!options.shapes.empty()) {
    shapes.emplace(*question.timed->served.clock);
    watch.on_shape = [&](std::vector<ShapePart> parts) { shapes->add(std::move(parts)); };
  }
  watch.on_progress = shown_in(progress, "simulate");
  SimulateAnswer answer = simulate({request, question.caches, question.timed}, watch);
  if (rows) rows->finish();
  if (recording) recording->finish();
  if (shapes) write_shapes(options, question, *shapes);
  if (question.is_planned) add_bounds(answer, question.scenario);
  return answer;
}

/// The same trace at several rates.
std::string load_of(const SimulateOptions& options, const Question& question, const std::vector<double>& rates) {
  if (question.caches.size() > 1)
    throw InputError(fmt::format("--rate {} draws the load of one cache, here are {}; choose one, say with --pack",
                                 options.clock.rate, question.caches.size()));
  if (!options.per_request.empty() || !options.record.empty())
    throw InputError("--per-request and --record write one replay; give --rate one factor");
  if (!options.shapes.empty()) throw InputError("--shapes writes the steps of one replay; give --rate one factor");
  if (question.scenario.simulate.driver.kind != DriverKind::open_loop)
    throw InputError("--rate is of requests that come by their times; leave --driver out");
  Progress progress(options.output.quiet);
  std::size_t done = 0;
  SimulateWatch watch;
  watch.on_start = [&] {
    progress.update("simulate", "rates", static_cast<int>(done++), static_cast<int>(rates.size()));
  };
  return render_load(load_curve({question.scenario.simulate, question.caches, question.timed}, rates, watch),
                     options.output.format(), options.output.style());
}

/// The same trace through several replicas, by router.
std::string fleet_of(const SimulateOptions& options, const Question& question) {
  const FleetQuestion& fleet = question.scenario.simulate.fleet;
  for (const auto& [flag, file] : {std::pair{"--per-request", options.per_request},
                                   {"--record", options.record},
                                   {"--shapes", options.shapes}})
    if (!file.empty())
      throw InputError(fmt::format("{} writes what one replica does; leave --replicas out, and simulate.fleet of the "
                                   "scenario", flag));
  if (!fleet.outages.empty() && question.scenario.simulate.driver.kind != DriverKind::open_loop)
    throw InputError("--down is of requests that come by their times; add --gpu NAME or --driver open_loop");
  if (fleet.decode.replicas > 0 && !question.timed)
    throw InputError("--decode-replicas: caches are handed over by a clock; add --gpu NAME");
  Progress progress(options.output.quiet);
  const FleetWatch watch{.on_progress = shown_in(progress, "simulate")};
  const auto bounds = question.is_planned ? scenario_bounds(question.scenario, fleet.replicas)
                                          : std::vector<std::optional<LayoutBound>>{};
  return render_fleet(
      simulate_fleet({question.scenario.simulate, question.caches, question.timed}, bounds, watch),
      options.output.format(), options.output.style());
}

std::string answer_of(const SimulateOptions& options) {
  Question question = bare_flag_given(options.bare) ? bare_question(options) : planned_question(options);
  lay_over(question.scenario.simulate.fleet, options.fleet);
  if (!options.per_request.empty() && question.caches.size() > 1)
    throw InputError(fmt::format("--per-request writes the requests of one cache, here are {}; choose one, say with "
                                 "--pack", question.caches.size()));
  if (!options.record.empty() && question.caches.size() > 1)
    throw InputError(fmt::format("--record writes the events of one cache, here are {}; choose one, say with --pack",
                                 question.caches.size()));
  check_shapes(options, question);
  try {
    const std::vector<double> rates = rates_of(options.clock);
    if (question.scenario.simulate.fleet.is_asked()) {
      if (rates.size() > 1) throw InputError("--rate draws the load of one replica; give one factor beside --replicas");
      return fleet_of(options, question);
    }
    if (rates.size() > 1) return load_of(options, question, rates);
    return render_simulate(replayed(options, question), options.output.format(), options.output.style());
  } catch (const SpecError& error) {
    throw explained(error, options, question.scenario);
  }
}

void check_record_options(const SimulateOptions& options) {
  if (!options.scenario.engines.empty() && !options.record.empty())
    throw InputError("--record writes the events of one cache; choose one release with --engine");
  if (options.record_fault.empty()) return;
  if (options.record.empty())
    throw InputError("--record-fault plants a fault into a recording; say where it goes by --record FILE");
  if (find_recording_fault(options.record_fault)) return;
  std::vector<std::string> known;
  for (const RecordingFault& fault : all_recording_faults()) known.emplace_back(fault.name);
  throw InputError(fmt::format("--record-fault {}: no such fault; take one of {}{}", options.record_fault,
                               fmt::join(known, ", "), did_you_mean(options.record_fault, known)));
}

int run_simulate(const SimulateOptions& options) {
  check_record_options(options);
  if (!options.scenario.engines.empty() && !options.per_request.empty())
    throw InputError("--per-request writes the requests of one cache; choose one release with --engine");
  write_answers(options.scenario, options.output, [&](const ScenarioOptions& one) {
    SimulateOptions under = options;
    under.scenario = one;
    return answer_of(under);
  });
  return exit_fine;
}

void add_scheduler_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--max-batched-tokens", options.max_batched_tokens, "most tokens of one step (default: 8192)")
      ->transform(token_count())
      ->type_name("TOKENS");
  add_key(command, options.scenario, "--max-num-seqs", "simulate.max_num_seqs", "N",
          "most running requests (default: 256)");
  add_key(command, options.scenario, "--watermark", "simulate.watermark", "SHARE",
          "share of the pool kept free at admission (default: 0)");
  add_acceptance_option(command, options.scenario);
  add_key(command, options.scenario, "--retention", "simulate.retention_interval_tokens", "TOKENS",
          "keep checkpoints at multiples of this, 0 only the last one");
  add_key(command, options.scenario, "--match-unit", "simulate.match_unit_tokens", "TOKENS",
          "find prefixes at multiples of this, a divisor of the block");
  add_policy_options(command, options.scenario);
  command.add_option("--policy", options.policy, "library with a policy of your own (docs/research.md)")
      ->type_name("FILE");
  command.add_option("--policy-settings", options.policy_settings, "what it is made with, in its own words")
      ->type_name("TEXT");
  add_switch(command, options.scenario, "--no-branch-point", "simulate.branch_point", "false",
             "no checkpoint where prompts part");
}

void add_replay_options(CLI::App& command, SimulateOptions& options) {
  add_trace_options(command, options.scenario, options.traffic);
  add_key(command, options.scenario, "--requests", "N",
          "only the first ones (default: all, of a made-up trace 10000, of simple traffic 300)");
}

void add_host_options(CLI::App& command, SimulateOptions& options) {
  add_key(command, options.scenario, "--host-memory", "simulate.host_memory", "SIZE",
          "memory of the host behind the pools, from which blocks are loaded back (default: none)");
  add_key(command, options.scenario, "--host-state-share", "simulate.host_state_share", "SHARE",
          "share of it for states alone (default: whatever was used last stays)");
  add_key(command, options.scenario, "--host-write", "simulate.host_write", "WHEN",
          "copy blocks there on eviction (the default) or write_through");
  add_key(command, options.scenario, "--host-bandwidth", "simulate.host_bandwidth", "GB/S",
          "of loads from there (default: 50)");
}

void add_result_options(CLI::App& command, SimulateOptions& options) {
  add_switch(command, options.scenario, "--upper-bounds", "simulate.upper_bounds", "true",
             "also what any policy could find, an unlimited pool, and any prefix");
  add_switch(command, options.scenario, "--losses", "simulate.losses", "true",
             "where the tokens went: what is computed again although an earlier prompt began with it, by cause");
  command
      .add_option("--per-request", options.per_request, "write a line of CSV for every request, in the order they end")
      ->type_name("FILE");
  command
      .add_option("--record", options.record, "write what happens in the cache, for hybridkv audit (docs/audit.md)")
      ->type_name("FILE");
  std::vector<std::string> faults;
  for (const RecordingFault& fault : all_recording_faults()) faults.emplace_back(fault.name);
  command.add_option("--record-fault", options.record_fault, "with a fault in it that audit finds")
      ->check(offers({{faults}}))
      ->type_name("FAULT");
  command
      .add_option("--shapes", options.shapes,
                  "write the steps that take most of the time, for the engine's benchmark of forward passes")
      ->type_name("FILE");
  add_force_option(command, options.overwrite);
}

}  // namespace

void add_simulate_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Replay a request trace: how much of the traffic hits, how many requests fit");
  const auto options = std::make_shared<SimulateOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  const auto add_group = [&](const char* heading, void (*add)(CLI::App&, SimulateOptions&)) {
    const std::size_t first = command->get_options().size();
    add(*command, *options);
    group_since(*command, first, heading);
  };
  add_group("A cache without a plan, in place of a scenario", [](CLI::App& with, SimulateOptions& to) {
    add_block_options(with, to.bare);
  });
  add_group("A dual pool with a radix tree without a plan", [](CLI::App& with, SimulateOptions& to) {
    add_tree_options(with, to.bare);
  });
  add_group("Scheduler", add_scheduler_options);
  add_group("Trace", add_replay_options);
  add_group("Driver", [](CLI::App& with, SimulateOptions& to) { add_driver_options(with, to.scenario); });
  add_group("Time", [](CLI::App& with, SimulateOptions& to) { add_clock_options(with, to.clock); });
  add_group("Fleet", [](CLI::App& with, SimulateOptions& to) { add_fleet_options(with, to.fleet); });
  add_group("Output", [](CLI::App& with, SimulateOptions& to) {
    add_host_options(with, to);
    add_result_options(with, to);
    add_output_options(with, to.output);
  });
  command->footer(with_engines(
      "Examples:\n"
      "  hybridkv simulate qwen3.5-397b --pack 1,3,5\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --trace trace.jsonl --upper-bounds\n"
      "  hybridkv simulate qwen3.5-397b --pack 8 --prompt-tokens 370\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --memory 4G --losses\n"
      "  hybridkv simulate qwen3.5-397b --pack 1 --engines {today},{tree}\n"
      "  hybridkv simulate qwen3.5-397b --pack 3 --driver closed_loop --in-flight 32\n"
      "  hybridkv simulate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k --ttft 1s\n"
      "  hybridkv simulate --block-size 272,528,1056 --num-blocks 20000 \\\n"
      "      --state-groups 1 --trace trace.jsonl\n"
      "  hybridkv simulate --block-size 528 --num-blocks 20000 --state-groups 1 \\\n"
      "      --per-request requests.csv\n"
      "  hybridkv simulate --token-slots 1477030 --state-slots 210 --trace trace.jsonl\n"
      "  hybridkv simulate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k --ttft 1s \\\n"
      "      --rate 0.5x,1x,2x,4x\n"
      "  hybridkv simulate qwen3.5-397b --pack 1 --replicas 8\n"
      "\n"
      "Without a plan --mode takes a list, and align is the default. Published results\n"
      "as scenarios: prefix-copies, prefix-second-copies, prefix-block-boundary,\n"
      "prefix-checkpoints, prefix-long-block, null-block-ceiling. Flags win over the\n"
      "section simulate of a scenario, whose keys scenarios/example.yaml explains."));
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      return run_simulate(*options);
    };
  });
}

}  // namespace hybridkv
