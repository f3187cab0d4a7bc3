#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>

#include "ask/simulate.h"
#include "ask/simulate_bounds.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/radix_options.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/radix_report.h"
#include "report/simulate_report.h"

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
  RadixOptions radix;
  // For all.
  std::optional<std::int64_t> max_batched_tokens;
  std::string per_request;
  Overwrite overwrite = Overwrite::no;
};

bool has_blocks(const SimulateOptions& options) {
  return !options.block_sizes.empty() || !options.num_blocks.empty();
}

/// The flag that describes a cache without a plan; null where a scenario is planned.
const char* bare_flag_given(const SimulateOptions& options) {
  return has_blocks(options) ? "--block-size" : is_given(options.radix) ? "--token-slots" : nullptr;
}

/// What to replay, and where its values stand.
struct Question {
  Scenario scenario;
  std::vector<CacheGeometry> caches;
  std::vector<RadixCache> radix;  // caches of the other kind; then there are none of the first
  bool is_planned = false;        // are the caches those of plans?
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
  constexpr std::string_view geometry = "geometry.", radix = "radix.";
  const std::string_view path = error.path();
  const char* const flag = path.starts_with(geometry) ? bare_flag(path.substr(geometry.size()))
                           : path.starts_with(radix)  ? radix_flag(path.substr(radix.size()))
                                                      : nullptr;
  if (flag && bare_flag_given(options)) return InputError(fmt::format("{}: {}", flag, error.message()));
  return located(scenario_error(error), scenario);
}

void refuse_scenario_flags(const SimulateOptions& options) {
  const ScenarioOptions& scenario = options.scenario;
  const char* const bare = bare_flag_given(options);
  if (!scenario.scenario.empty() || !scenario.model.empty())
    throw InputError(fmt::format("{} describes a cache without a plan; leave out the scenario and --model", bare));
  for (const auto& [flag, value] : given_flags(scenario))
    if (flag != "--mode" || !has_blocks(options))
      throw InputError(fmt::format("{} belongs to a plan, {} to a cache without one", flag, bare));
  for (const std::string& assignment : scenario.overrides)
    if (!assignment.starts_with("simulate."))
      throw InputError(fmt::format("--set {}: {} describes a cache without a plan, which takes only keys of simulate",
                                   assignment, bare));
}

/// The product of the listed sizes and modes.
Question bare_question(const SimulateOptions& options) {
  if (options.block_sizes.empty() || options.num_blocks.empty())
    throw InputError("--block-size and --num-blocks describe a cache together; give both, or a scenario");
  refuse_scenario_flags(options);
  refuse_radix_settings(options.radix, "--block-size");
  BareCaches caches{.block_sizes = options.block_sizes,
                    .num_blocks = options.num_blocks,
                    .attention_groups = options.attention_groups.value_or(1),
                    .state_groups = options.state_groups.value_or(0),
                    .max_num_batched_tokens = options.max_batched_tokens};
  Question question{read_simulate_section(options.scenario), {}, {}};
  const std::string& typed = options.scenario.cache_mode;
  if (!typed.empty()) caches.modes.clear();
  for (const std::string& name : typed.empty() ? std::vector<std::string>{} : split_list("--mode", typed)) {
    const auto mode = parse_cache_mode(name);
    if (!mode)
      throw InputError(fmt::format("--mode {}: no such cache mode; take none, align or all{}", name,
                                   did_you_mean(name, names_of(cache_mode_names))));
    caches.modes.push_back(*mode);
  }
  question.caches = bare_caches(caches, question.scenario.simulate);
  return question;
}

/// The product of the listed slots.
Question radix_question(const SimulateOptions& options) {
  refuse_scenario_flags(options);
  Question question{read_simulate_section(options.scenario), {}, {}};
  question.radix = described_radix_caches(options.radix, options.max_batched_tokens,
                                          question.scenario.simulate.scheduler.max_model_len);
  return question;
}

Question planned_question(const SimulateOptions& options) {
  if (options.attention_groups || options.state_groups)
    throw InputError(fmt::format("{} belongs to --block-size; the groups of a scenario follow from its model",
                                 options.state_groups ? "--state-groups" : "--attention-groups"));
  refuse_radix_settings(options.radix);
  if (options.scenario.scenario.empty() && options.scenario.model.empty())
    throw InputError("no cache to simulate: name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b, "
                     "example), give --model NAME --memory SIZE --max-model-len TOKENS, or describe a cache without a "
                     "plan by --block-size and --num-blocks");
  ScenarioOptions with_budget = options.scenario;
  if (options.max_batched_tokens)
    with_budget.flags.push_back({"engine.max_num_batched_tokens", std::to_string(*options.max_batched_tokens),
                                 fmt::format("--max-batched-tokens {}", *options.max_batched_tokens)});
  Question question{read_scenario(with_budget), {}, {}, true};
  if (question.scenario.engine.rules->radix_pools)
    question.radix = planned_radix_caches(question.scenario);
  else
    question.caches = planned_caches(question.scenario);
  return question;
}

/// The answer of a replay, with the rows of its first cache written to the file that was asked for: `header`, then what
/// `watch_rows` sets a watch to append.
template <class Watch, class Replay>
auto answer_of(const SimulateOptions& options, const Question& question, std::string_view header,
               const std::function<void(Watch&, const std::function<void(const std::string&)>&)>& watch_rows,
               Replay&& replay) {
  std::optional<OutputFile> rows;
  Progress progress(options.output.quiet);
  Watch watch;
  if (!options.per_request.empty()) {
    watch.on_start = [&] {
      refuse_overwriting(options.per_request, {options.overwrite, inputs_of(question.scenario)});
      rows.emplace(options.per_request);
      rows->append(fmt::format("{}\n", header));
    };
    watch_rows(watch, [&](const std::string& row) { rows->append(row + "\n"); });
  }
  watch.on_progress = [&](const SweepProgress& at) {
    progress.update("simulate",
                    fmt::format("per cent of the trace, {} requests, {:.0f} a second", at.requests,
                                at.requests_per_second()),
                    static_cast<int>(100 * at.fraction), 100);
  };
  auto answer = replay(watch);
  if (rows) rows->finish();
  return answer;
}

std::string replay_of(const SimulateOptions& options, const Question& question) {
  const SimulateRequest& request = question.scenario.simulate;
  const Format format = options.output.format();
  using Append = std::function<void(const std::string&)>;
  if (question.radix.empty()) {
    const auto watch_rows = [&](SimulateWatch& watch, const Append& append) {
      if (request.losses)
        watch.on_loss = [append](const RequestRecord& record, const ReuseLoss& loss) {
          append(request_csv_row(record) + loss_csv_fields(loss));
        };
      else
        watch.on_record = [append](const RequestRecord& record) { append(request_csv_row(record)); };
    };
    const std::string header = std::string(request_csv_header) + (request.losses ? loss_csv_names() : "");
    const auto replay = [&](const SimulateWatch& watch) {
      SimulateAnswer answer = simulate({request, question.caches}, watch);
      if (question.is_planned) add_bounds(answer, question.scenario);
      return answer;
    };
    return render_simulate(answer_of<SimulateWatch>(options, question, header, watch_rows, replay), format,
                           options.output.style());
  }
  const bool has_states = question.radix.front().settings.has_states();
  const auto watch_rows = [&](RadixWatch& watch, const Append& append) {
    if (request.losses)
      watch.on_loss = [append, has_states](const RadixRecord& record, const ReuseLoss& loss) {
        append(radix_csv_row(record, has_states) + loss_csv_fields(loss));
      };
    else
      watch.on_record = [append, has_states](const RadixRecord& record) { append(radix_csv_row(record, has_states)); };
  };
  const std::string header = std::string(radix_csv_header) + (request.losses ? loss_csv_names() : "");
  const auto replay = [&](const RadixWatch& watch) {
    RadixAnswer answer = simulate_radix(request, question.radix, watch);
    if (question.is_planned) add_bounds(answer, question.scenario);
    return answer;
  };
  return render_radix(answer_of<RadixWatch>(options, question, header, watch_rows, replay), format,
                      options.output.style());
}

std::string answer_of(const SimulateOptions& options) {
  if (is_given(options.radix) && (has_blocks(options) || options.attention_groups || options.state_groups))
    throw InputError("--token-slots describes a dual pool with a radix tree, --block-size and the groups a pool of "
                     "blocks; give one of them");
  const Question question = has_blocks(options)       ? bare_question(options)
                            : is_given(options.radix) ? radix_question(options)
                                                      : planned_question(options);
  if (const std::size_t caches = question.caches.size() + question.radix.size();
      !options.per_request.empty() && caches > 1)
    throw InputError(fmt::format("--per-request writes the requests of one cache, here are {}; choose one, say with "
                                 "--pack", caches));
  try {
    return replay_of(options, question);
  } catch (const SpecError& error) {
    throw explained(error, options, question.scenario);
  }
}

int run_simulate(const SimulateOptions& options) {
  if (!options.scenario.engines.empty() && !options.per_request.empty())
    throw InputError("--per-request writes the requests of one cache; choose one release with --engine");
  write_answers(options.scenario, options.output, [&](const ScenarioOptions& one) {
    SimulateOptions under = options;
    under.scenario = one;
    return answer_of(under);
  });
  return exit_fine;
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
  add_policy_options(command, options.scenario);
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
  add_group("A cache without a plan, in place of a scenario", add_bare_options);
  add_group("A dual pool with a radix tree without a plan", [](CLI::App& with, SimulateOptions& to) {
    add_radix_options(with, to.radix);
  });
  add_group("Scheduler", add_scheduler_options);
  add_group("Trace", add_replay_options);
  add_group("Driver", [](CLI::App& with, SimulateOptions& to) { add_driver_options(with, to.scenario); });
  add_group("Output", [](CLI::App& with, SimulateOptions& to) {
    add_host_options(with, to);
    add_result_options(with, to);
    add_output_options(with, to.output);
  });
  command->footer(
      "Examples:\n"
      "  hybridkv simulate qwen3.5-397b --pack 1,3,5\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --trace trace.jsonl --upper-bounds\n"
      "  hybridkv simulate qwen3.5-397b --pack 8 --prompt-tokens 370\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --memory 4G --losses\n"
      "  hybridkv simulate qwen3.5-397b --pack 1 --engines vllm-0.33,sglang-0.5.23\n"
      "  hybridkv simulate qwen3.5-397b --pack 3 --driver closed_loop --in-flight 32\n"
      "  hybridkv simulate --block-size 272,528,1056 --num-blocks 20000 \\\n"
      "      --state-groups 1 --trace trace.jsonl\n"
      "  hybridkv simulate --block-size 528 --num-blocks 20000 --state-groups 1 \\\n"
      "      --per-request requests.csv\n"
      "  hybridkv simulate --token-slots 1477030 --state-slots 210 --trace trace.jsonl\n"
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
