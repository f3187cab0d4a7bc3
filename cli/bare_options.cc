#include "cli/bare_options.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/values.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

enum class Describes { blocks, tree, both };

/// A flag of a cache without a plan.
struct BareFlag {
  const char* flag;
  const char* path;     // of the simulator's value that it sets
  Describes describes;
  bool (*is_given)(const BareOptions&);
  const char* of_plan;  // what sets it in a plan; null: a plan has no such setting
};

template <auto Member>
bool given(const BareOptions& options) {
  const auto& value = options.*Member;
  if constexpr (requires { value.has_value(); })
    return value.has_value();
  else if constexpr (requires { value.empty(); })
    return !value.empty();
  else
    return value;
}

using O = BareOptions;
constexpr BareFlag bare_flags[] = {
    {"--block-size", "geometry.block_size_tokens", Describes::blocks, given<&O::block_sizes>, nullptr},
    {"--num-blocks", "geometry.num_blocks", Describes::blocks, given<&O::num_blocks>, nullptr},
    {"--attention-groups", "geometry.attention_groups", Describes::blocks, given<&O::attention_groups>, nullptr},
    {"--state-groups", "geometry.state_groups", Describes::blocks, given<&O::state_groups>, nullptr},
    {"--max-batched-tokens", "geometry.max_num_batched_tokens", Describes::both, nullptr, nullptr},
    {"--token-slots", "radix.token_slots", Describes::tree, given<&O::token_slots>, nullptr},
    {"--state-slots", "radix.state_slots", Describes::tree, given<&O::state_slots>, nullptr},
    {"--page-size", "radix.page", Describes::tree, given<&O::page_size>, "engine.page_size=TOKENS"},
    {"--radix-strategy", "radix.strategy", Describes::tree, given<&O::strategy>,
     "engine.mamba_radix_cache_strategy=NAME"},
    {"--max-batched-tokens", "radix.chunk_tokens", Describes::both, nullptr, nullptr},
    {"--scan-chunk", "radix.model_chunk", Describes::tree, given<&O::scan_chunk>, nullptr},
    {"--track-interval", "radix.track_interval", Describes::tree, given<&O::track_interval>,
     "engine.mamba_track_interval=TOKENS"},
    {"--states-per-path", "radix.max_states_per_path", Describes::tree, given<&O::states_per_path>, nullptr},
    {"--no-overlap", "radix.overlap", Describes::tree, given<&O::no_overlap>, "engine.overlap_schedule=false"},
    {"--step-ahead", "radix.step_ahead", Describes::tree, given<&O::step_ahead>, nullptr}};

bool has_tree(const BareOptions& options) { return !options.token_slots.empty() || !options.state_slots.empty(); }

/// The first flag of such a cache; null where none is given.
const BareFlag* first_given(const BareOptions& options, Describes described) {
  for (const BareFlag& flag : bare_flags)
    if (flag.describes == described && flag.is_given(options)) return &flag;
  return nullptr;
}

std::vector<AnyCache> described_blocks(const BareOptions& options, const BareScheduling& scheduling,
                                       const SimulateRequest& request) {
  BareCaches caches{.block_sizes = options.block_sizes,
                    .num_blocks = options.num_blocks,
                    .attention_groups = options.attention_groups.value_or(1),
                    .state_groups = options.state_groups.value_or(0),
                    .max_num_batched_tokens = scheduling.max_batched_tokens};
  if (!scheduling.modes.empty()) {
    caches.modes.clear();
    for (const std::string& name : split_list("--mode", scheduling.modes)) {
      const auto mode = parse_cache_mode(name);
      if (!mode)
        throw InputError(fmt::format("--mode {}: no such cache mode; take none, align or all{}", name,
                                     did_you_mean(name, names_of(cache_mode_names))));
      caches.modes.push_back(*mode);
    }
  }
  return bare_caches(caches, request);
}

/// The engine that keeps a radix tree over two pools.
const EngineRules* rules_with_tree() {
  for (const Engine* const engine : all_engines())
    if (engine->abilities == &abilities_of_trees) return engine->rules;
  return nullptr;
}

std::vector<AnyCache> described_trees(const BareOptions& options, const BareScheduling& scheduling,
                                      const SimulateRequest& request) {
  refuse_unable(request, abilities_of_trees);
  TreeSettings settings;
  settings.page = options.page_size.value_or(settings.page);
  settings.chunk_tokens = scheduling.max_batched_tokens.value_or(settings.chunk_tokens);
  settings.model_chunk = options.scan_chunk.value_or(settings.model_chunk);
  settings.track_interval = options.track_interval.value_or(settings.track_interval);
  settings.max_states_per_path = options.states_per_path.value_or(settings.max_states_per_path);
  settings.overlap = !options.no_overlap;
  settings.step_ahead = options.step_ahead;
  if (!options.strategy.empty()) settings.strategy = *parse_tree_strategy(options.strategy);
  std::vector<AnyCache> caches;
  for (const std::int64_t tokens : options.token_slots)
    for (const std::int64_t states : options.state_slots.empty() ? std::vector<std::int64_t>{0} : options.state_slots) {
      settings.token_slots = tokens;
      settings.state_slots = states;
      caches.emplace_back(TreeCache{rules_with_tree(),
                                    states > 0 ? fmt::format("{} + {} {}", tokens, states, to_string(settings.strategy))
                                               : fmt::format("{} attention only", tokens),
                                    settings, request.scheduler.max_model_len});
    }
  return caches;
}

}  // namespace

bool has_blocks(const BareOptions& options) { return !options.block_sizes.empty() || !options.num_blocks.empty(); }

const char* bare_flag_given(const BareOptions& options) {
  return has_blocks(options) ? "--block-size" : has_tree(options) ? "--token-slots" : nullptr;
}

const char* bare_flag(std::string_view path) {
  for (const BareFlag& flag : bare_flags)
    if (path == flag.path) return flag.flag;
  return nullptr;
}

void refuse_bare_settings(const BareOptions& options) {
  if (options.attention_groups || options.state_groups)
    throw InputError(fmt::format("{} belongs to --block-size; the groups of a scenario follow from its model",
                                 options.state_groups ? "--state-groups" : "--attention-groups"));
  if (const BareFlag* const flag = first_given(options, Describes::tree))
    throw InputError(fmt::format("{} belongs to --token-slots, {}", flag->flag,
                                 flag->of_plan ? fmt::format("in a plan it is --set {}", flag->of_plan)
                                               : "a plan has no such setting"));
}

std::vector<AnyCache> described_caches(const BareOptions& options, const BareScheduling& scheduling,
                                       const SimulateRequest& request) {
  if (has_tree(options) && (has_blocks(options) || options.attention_groups || options.state_groups))
    throw InputError("--token-slots describes a dual pool with a radix tree, --block-size and the groups a pool of "
                     "blocks; give one of them");
  if (has_blocks(options)) {
    if (options.block_sizes.empty() || options.num_blocks.empty())
      throw InputError("--block-size and --num-blocks describe a cache together; give both, or a scenario");
    if (const BareFlag* const flag = first_given(options, Describes::tree))
      throw InputError(fmt::format("{} belongs to --token-slots, not to --block-size", flag->flag));
    return described_blocks(options, scheduling, request);
  }
  if (options.token_slots.empty())
    throw InputError("--state-slots describes a cache together with --token-slots; give both, or a scenario");
  return described_trees(options, scheduling, request);
}

void add_block_options(CLI::App& command, BareOptions& options) {
  add_list(command, "--block-size", options.block_sizes, "tokens of a block, one or a list", "TOKENS", token_count());
  add_list(command, "--num-blocks", options.num_blocks, "blocks of the pool, the null block included, one or a list",
           "BLOCKS", whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  command.add_option("--attention-groups", options.attention_groups, "full-attention groups (default: 1)")
      ->type_name("N");
  command.add_option("--state-groups", options.state_groups, "recurrent groups (default: 0)")->type_name("N");
}

void add_tree_options(CLI::App& command, BareOptions& options) {
  const CLI::Validator any_count =
      whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  add_list(command, "--token-slots", options.token_slots, "tokens that the pool of K and V holds, one or a list",
           "TOKENS", any_count);
  add_list(command, "--state-slots", options.state_slots,
           "states that the other pool holds, one or a list (default: there are no recurrent layers)", "SLOTS",
           any_count);
  command.add_option("--page-size", options.page_size, "tokens of a page (default: 1)")->type_name("TOKENS");
  command
      .add_option("--radix-strategy", options.strategy,
                  "no_buffer, extra_buffer or extra_buffer_lazy (default: extra_buffer)")
      ->check(one_of({"no_buffer", "extra_buffer", "extra_buffer_lazy"}))
      ->type_name("NAME");
  command.add_option("--scan-chunk", options.scan_chunk, "tokens of a chunk of the model's scan (default: 64)")
      ->type_name("TOKENS");
  command
      .add_option("--track-interval", options.track_interval,
                  "tokens between the states that a decode leaves (default: 256)")
      ->type_name("TOKENS");
  command
      .add_option("--states-per-path", options.states_per_path,
                  "most states from the root to a node, -1 for no limit (default: -1)")
      ->type_name("N");
  command.add_flag("--no-overlap", options.no_overlap, "steps do not overlap: one tracking slot instead of two");
  command.add_flag("--step-ahead", options.step_ahead,
                   "the step behind a request's last runs before its end is known, as overlap has it (read)");
}

}  // namespace hybridkv
