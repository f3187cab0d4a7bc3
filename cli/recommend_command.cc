#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "ask/recommend.h"
#include "ask/recommend_commands.h"
#include "ask/replay/checkpoint_advice.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/gpu_choice_options.h"
#include "cli/help_format.h"
#include "cli/kernel_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/recommend/gpu_choice_report.h"
#include "report/recommend/recommend_engines.h"
#include "report/recommend/recommend_report.h"
#include "report/replay/checkpoint_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct RecommendOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  // The space, an axis a list; which of them an engine has it says itself.
  std::vector<std::int64_t> block_sizes;
  std::vector<std::int64_t> kernel_blocks;
  std::vector<std::string> modes;
  std::vector<std::string> match_units;
  std::vector<std::string> retentions;
  std::string search = "auto";
  std::vector<std::string> strategies;
  std::vector<std::string> ratios;
  std::vector<std::int64_t> page_sizes;
  std::vector<std::int64_t> track_intervals;
  std::vector<std::string> snapshots;
  std::vector<std::int64_t> snapshot_intervals;
  std::vector<std::int64_t> slots;
  std::vector<std::int64_t> slot_checkpoints;
  std::vector<std::int64_t> checkpoint_steps;
  std::vector<std::int64_t> cache_rams;
  // Limits.
  std::optional<std::int64_t> at_length;
  std::optional<double> min_concurrency;
  std::optional<std::int64_t> min_kernel_block;
  double give_up_percent = 5;
  SimpleTraffic traffic;
  GpuChoiceOptions gpu_choice;
  bool checkpoints = false;
  std::vector<std::string> kernels;  ///< files of their cards
  std::vector<KernelCard> cards;     ///< the same, read
};

std::int64_t tokens_of(const std::string& text, const char* flag, const char* words) {
  const ParsedNumber tokens = parse_tokens(text);
  if (!tokens.problem.empty() || tokens.value < 0)
    throw InputError(fmt::format("{} {}: no number of tokens; take {} or a whole number", flag, text, words));
  return tokens.value;
}

std::vector<std::optional<std::int64_t>> retentions_of(const RecommendOptions& options) {
  std::vector<std::optional<std::int64_t>> retentions;
  for (const std::string& interval : options.retentions) {
    if (interval == "all") retentions.emplace_back(std::nullopt);
    else retentions.emplace_back(interval == "last" ? 0 : tokens_of(interval, "--retention", "'all', 'last'"));
  }
  return retentions;
}

SearchSpace space_of(const RecommendOptions& options, const Scenario& scenario) {
  SearchSpace space;
  for (const std::string& name : options.modes) space.modes.push_back(parse_cache_mode(name).value());
  // The packs of a scenario are those to compare; the search goes beyond them unless the flag says which.
  if (!options.scenario.pack.empty()) space.packs = scenario.pack_sizes;
  for (const std::int64_t size : options.block_sizes)
    space.block_floors.push_back(size == 0 ? std::optional<std::int64_t>() : size);
  if (!options.match_units.empty()) space.match_units.emplace();
  for (const std::string& unit : options.match_units)
    space.match_units->push_back(unit == "block" ? 0 : tokens_of(unit, "--match-units", "'block'"));
  space.retentions = retentions_of(options);
  for (const std::string& name : options.strategies) space.strategies.push_back(parse_tree_strategy(name).value());
  for (const std::string& text : options.ratios) {
    const ParsedReal ratio = parse_real(text);
    if (!ratio.problem.empty()) throw InputError(fmt::format("--ratios {}: is no number; take one like 0.9", text));
    space.ratios.push_back(ratio.value);
  }
  space.page_sizes = options.page_sizes;
  space.track_intervals = options.track_intervals;
  for (const std::string& name : options.snapshots) space.snapshots.push_back(parse_snapshot_places(name).value());
  space.snapshot_intervals = options.snapshot_intervals;
  space.slots = options.slots;
  space.slot_checkpoints = options.slot_checkpoints;
  space.checkpoint_steps = options.checkpoint_steps;
  space.cache_rams = options.cache_rams;
  return space;
}

RecommendQuestion question_of(const RecommendOptions& options, const Scenario& scenario) {
  RecommendQuestion question;
  question.space = space_of(options, scenario);
  if (options.at_length && *options.at_length < 1)
    throw InputError(fmt::format("--at-length {}: must be at least 1 token", *options.at_length));
  // Comparisons that are false for nan.
  if (options.min_concurrency && !(*options.min_concurrency > 0 && *options.min_concurrency < most_requests))
    throw InputError(fmt::format("--min-concurrency {}: must be a number of requests, more than 0",
                                 *options.min_concurrency));
  if (!(options.give_up_percent >= 0 && options.give_up_percent <= 100))
    throw InputError(fmt::format("--give-up {}: is a share of the default's concurrency, 0 to 100 percent",
                                 options.give_up_percent));
  question.at_length = options.at_length;
  question.min_concurrency = options.min_concurrency;
  question.give_up_percent = options.give_up_percent;
  question.workload = traffic_text(options.traffic);
  question.kernels = options.cards;
  question.kernel_blocks = options.kernel_blocks;
  question.min_kernel_block = options.min_kernel_block;
  question.search = value_in(search_kind_names, options.search);  // "auto" names none
  return question;
}

RecommendAnswer recommended(const RecommendOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  show_notes(left_out_of_search(scenario));
  Progress progress(options.output.quiet);
  const auto watch = [&](const RecommendProgress& at) {
    progress.update("recommend", at.what, static_cast<int>(at.done), static_cast<int>(at.total));
  };
  RecommendAnswer answer = recommend_scenario(scenario, question_of(options, scenario), watch);
  add_commands(answer, scenario, replayed_words(options.scenario, options.traffic));
  return answer;
}

RecommendOptions under(RecommendOptions options, const ScenarioOptions& scenario) {
  options.scenario = scenario;
  return options;
}

std::string rendered_checkpoints(const RecommendOptions& options) {
  return render_checkpoints(advise_checkpoints(read_scenario(options.scenario), retentions_of(options)),
                            options.output.format(), options.output.style());
}

/// The exit code of what is picked, of several engines of the one to take.
int exit_of_picks(const std::vector<EngineRecommendation>& engines) {
  const std::optional<std::size_t> taken = engine_to_take(engines);
  return taken ? exit_of_kernels(engines[*taken].answer->pick_kernels()) : exit_fine;
}

/// Which engine to take, for people.
int write_verdict_on_engines(const RecommendOptions& options) {
  std::vector<EngineRecommendation> engines;
  const std::vector<EngineAnswer> answers = engine_answers(options.scenario, [&](const ScenarioOptions& one) {
    engines.push_back({one.release, recommended(under(options, one)), {}});
    return std::string();
  });
  for (const EngineAnswer& answer : answers)
    if (!answer.refused.empty()) engines.push_back({answer.release, {}, answer.refused});
  write_output(render_people(recommend_engines(engines), options.output.format(), options.output.style()));
  return exit_of_picks(engines);
}

int write_recommendations(const RecommendOptions& options) {
  std::vector<EngineRecommendation> engines;
  write_answers(options.scenario, options.output, [&](const ScenarioOptions& one) {
    engines.push_back({one.release, recommended(under(options, one)), {}});
    return render_recommend(*engines.back().answer, options.output.format(), options.output.style());
  });
  return exit_of_picks(engines);
}

/// Which GPUs serve the trace within the limits.
GpuChoice gpu_choice_of(const RecommendOptions& options) {
  Progress progress(options.output.quiet);
  bool noted = false;
  const auto settings_for = [&](const Scenario& scenario) {
    // What is assumed of one number of ranks is assumed of the others too.
    if (!std::exchange(noted, true)) {
      show_notes(scenario.notes);
      show_notes(left_out_of_search(scenario));
    }
    return question_of(options, scenario);
  };
  return choose_gpus(gpu_choice_question(options.gpu_choice, options.scenario, options.traffic, settings_for),
                     [&](const RecommendProgress& at) {
                       progress.update("recommend", at.what, static_cast<int>(at.done), static_cast<int>(at.total));
                     });
}

int write_gpu_choices(const RecommendOptions& options) {
  const Format format = options.output.format();
  std::vector<EngineGpuChoice> engines;
  const auto add = [&](const ScenarioOptions& one) {
    GpuChoice answer = gpu_choice_of(under(options, one));
    const std::string release(answer.searches.front().answer.engine.rules->name);
    engines.push_back({release, std::move(answer), {}});
    return render_gpu_choice(engines.back(), format, options.output.style());
  };
  if (options.scenario.engines.empty() || format == Format::json || format == Format::csv) {
    write_answers(options.scenario, options.output, add);
  } else {
    for (const EngineAnswer& answer : engine_answers(options.scenario, add))
      if (!answer.refused.empty()) engines.push_back({answer.release, {}, answer.refused});
    write_output(render_people(gpu_choice_report(engines), format, options.output.style()));
  }
  return choice_to_take(engines) ? exit_fine : exit_fault_found;
}

int run_recommend(const RecommendOptions& options) {
  const bool of_gpus = chooses_gpus(options.gpu_choice);
  if (of_gpus && options.checkpoints)
    throw InputError("--gpu: --checkpoints asks where states are kept, whatever a GPU takes; leave one of them out");
  if (of_gpus) return write_gpu_choices(options);
  if (options.checkpoints) {
    if (!options.kernels.empty())
      throw InputError("--kernels: --checkpoints asks where states are kept, which no kernel sees; leave one of them "
                       "out");
    write_answers(options.scenario, options.output,
                  [&](const ScenarioOptions& one) { return rendered_checkpoints(under(options, one)); });
    return exit_fine;
  }
  const Format format = options.output.format();
  const bool for_people = format != Format::json && format != Format::csv;
  return !options.scenario.engines.empty() && for_people ? write_verdict_on_engines(options)
                                                         : write_recommendations(options);
}

void add_space_options(CLI::App& command, RecommendOptions& options) {
  command.add_option("--packs", options.scenario.pack, "the same as --pack: attention layers per page to search")
      ->type_name("LIST");
  add_list(command, "--block-sizes", options.block_sizes,
           "user block sizes to search, 0 = none (default: none, powers of two up to 8192, kernel blocks)", "LIST",
           token_count());
  add_list(command, "--modes", options.modes, "cache modes to search: none, align, all (default: all three)", "LIST",
           one_of(names_of(cache_mode_names)));
  add_list(command, "--match-units", options.match_units,
           "match units to search: tokens or 'block' (default: the block and its finer divisors)", "LIST", any_text());
  add_list(command, "--retention", options.retentions,
           "retention intervals to search: tokens, 'all' or 'last' (default: all, last, every 4 blocks)", "LIST",
           any_text());
  std::vector<std::string> strategies = names_of(tree_strategy_names);
  std::erase(strategies, to_string(TreeStrategy::automatic));
  add_list(command, "--strategies", options.strategies,
           "of a radix tree: strategies of states to search (default: all that the engine has)", "LIST",
           one_of(strategies));
  add_list(command, "--ratios", options.ratios,
           "of a radix tree, or of snapshots: memory of states over that of tokens to search (default: the engine's, "
           "the best for the length, a few around it)", "LIST", any_text());
  add_list(command, "--page-sizes", options.page_sizes, "of a radix tree: pages to search (default: 1 and 64)", "LIST",
           token_count());
  add_list(command, "--track-intervals", options.track_intervals,
           "of a radix tree: intervals of a decode's states to search (default: the engine's; with --driver "
           "closed_loop 64 to 1024)", "LIST", token_count());
  add_list(command, "--snapshots", options.snapshots,
           "of snapshots: where they are taken, to search (default: all four)", "LIST",
           one_of(names_of(snapshot_places_names)));
  add_list(command, "--snapshot-intervals", options.snapshot_intervals,
           "of snapshots: tokens between periodic ones to search (default: the engine's, 0, 512, 2048, 8192)", "LIST",
           token_count());
  add_list(command, "--slots", options.slots,
           "of a server with slots: how many to search (default: the engine's, 1 to 64, the most that hold such "
           "requests at once)", "LIST", token_count());
  add_list(command, "--slot-checkpoints", options.slot_checkpoints,
           "of a server with slots: checkpoints of a slot to search (default: the engine's, 0 to 64)", "LIST",
           token_count());
  add_list(command, "--checkpoint-steps", options.checkpoint_steps,
           "of a server with slots: tokens between older checkpoints to search (default: the engine's, 8192, 1024, 0)",
           "LIST", token_count());
  add_list(command, "--cache-rams", options.cache_rams,
           "of a server with slots: MiB of the host for saved prompts to search (default: the engine's, 8192, 0, "
           "32768, 131072; of simulate.host_memory, where that is set, parts)", "LIST", token_count());
  std::vector<std::string> searches = names_of(search_kind_names);
  searches.insert(searches.begin(), "auto");
  command.add_option("--search", options.search,
                     "auto (as much as takes a few seconds), exhaustive, refined or pruned (default: auto)")
      ->check(one_of(searches))
      ->type_name("KIND");
}

void add_limit_options(CLI::App& command, RecommendOptions& options) {
  command.add_option("--at-length", options.at_length,
                     "requests by which bytes and concurrency are counted (default: the longest max_model_len)")
      ->transform(token_count())
      ->type_name("TOKENS");
  command.add_option("--min-concurrency", options.min_concurrency, "requests of that length that must fit at once")
      ->type_name("N");
  command.add_option("--give-up", options.give_up_percent,
                     "without it: most that the pick may hold fewer than the default (default: 5)")
      ->type_name("PERCENT");
  add_list(command, "--kernel-blocks", options.kernel_blocks, "kernel blocks that the backend supports", "LIST",
           token_count());
  command.add_option("--min-kernel-block", options.min_kernel_block, "smallest kernel block that is fast enough")
      ->transform(token_count())
      ->type_name("TOKENS");
}

}  // namespace

void add_recommend_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "recommend", "Search packs, block sizes, modes, match units and retention; show the Pareto front and one pick");
  const auto options = std::make_shared<RecommendOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_space_options(*command, *options);
  add_limit_options(*command, *options);
  add_trace_options(*command, options->scenario, options->traffic);
  add_key(*command, options->scenario, "--requests", "N",
          "only the first ones (default: all, of a made-up trace 2000, of simple traffic 300)");
  add_driver_options(*command, options->scenario);
  const std::size_t first = command->get_options().size();
  add_gpu_choice_options(*command, options->gpu_choice);
  group_since(*command, first, "By the clock: how many GPUs (docs/clock.md)");
  command->add_flag("--checkpoints", options->checkpoints,
                    "only say where states are best kept, and what retention intervals (--retention) find, of one "
                    "pack and one length");
  add_kernels_option(*command, options->kernels);
  add_output_options(*command, options->output);
  command->footer(with_engines(
      "The front weighs prompt tokens computed again, bytes of a request, and requests\n"
      "that fit at once. A layout that a kernel of --kernels would corrupt or refuse is\n"
      "picked where there is no other; the exit code is 1 where the pick is corrupted.\n"
      "With --gpu the settings of the front are replayed by the clock, and the fewest\n"
      "GPUs are taken that keep --ttft and --tpot; the exit code is 1 where none do.\n"
      "\nExamples:\n"
      "  hybridkv recommend qwen3.5-397b\n"
      "  hybridkv recommend qwen3.5-397b --prompt-tokens 370\n"
      "  hybridkv recommend qwen3.5-397b --packs 1..5 --modes align \\\n"
      "      --min-concurrency 60 --at-length 32k\n"
      "  hybridkv recommend --model Nemotron-3-Nano-30B-A3B --memory 20GiB \\\n"
      "      --max-model-len 128k --trace trace.jsonl\n"
      "  hybridkv recommend qwen3.5-397b --engine {tree} \\\n"
      "      --strategies no_buffer,extra_buffer\n"
      "  hybridkv recommend qwen3.5-397b --pack 5 --mode align --checkpoints \\\n"
      "      --retention all,last,1728\n"
      "  hybridkv recommend qwen3.5-397b --packs 1..5 --kernels mine.card.json\n"
      "  hybridkv recommend Qwen3.5-35B-A3B --max-model-len 128k --gpu H200 \\\n"
      "      --gpus 1..16 --ttft 1s --tpot 40ms\n"
      "  hybridkv recommend qwen3.5-397b --kernel-blocks 16,32,64 \\\n"
      "      --min-kernel-block 64 --format json"));
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      options->cards = read_kernel_cards(options->kernels);
      return run_recommend(*options);
    };
  });
}

}  // namespace hybridkv
