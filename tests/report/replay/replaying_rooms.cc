#include "tests/report/replaying_rooms.h"

#include <algorithm>
#include <utility>

#include "ask/replay/bound.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/replay_settings.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_request.h"
#include "ask/replay/sweep.h"
#include "planner/evidence.h"
#include "planner/plan_facts.h"
#include "planner/snapshot_prefix.h"
#include "report/replay/sweep_row.h"
#include "scenarios/sweep_axes.h"
#include "simulator/blocks/block_rules.h"
#include "simulator/blocks/closed_form.h"
#include "simulator/blocks/plan_geometry.h"
#include "verify/forward/forward_geometry.h"

namespace hybridkv::testing {

namespace {

bool has_blocks(const AskedQuestion& asked) { return has_block_index(*asked.scenario->engine.rules); }

/// Ids that a request takes of every arena, where arenas share large pages those of the pages.
std::int64_t closed_form_ids(const CacheGeometry& geometry, std::int64_t tokens) {
  std::int64_t ids = 0;
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
    const std::int64_t blocks = request_block_ids(geometry, tokens, arena);
    const std::int64_t in_id =
        geometry.shares_large_pages() ? geometry.blocks_per_large_page[static_cast<std::size_t>(arena)] : 1;
    ids += ceil_div(blocks, in_id);
  }
  return ids;
}

/// What a cache of blocks says of itself, whoever made it.
void say_cache(RoomAnswer& answer, const CacheGeometry& geometry) {
  answer.says["mode"] = to_string(geometry.said_mode());
  answer.says["drafts"] = word_of(geometry.speculative_tokens);
  answer.says["retention"] = word_of(geometry.retention_interval_tokens);
  if (geometry.caches_prefixes() && !geometry.has_partial_tails())
    answer.says["match unit of what is found"] = word_of(geometry.common_multiple());
}

/// The tables of a request, whose number and blocks do not depend on memory.
std::string tables_of(const CacheGeometry& geometry) {
  std::vector<std::string> tables;
  const auto add = [&](const char* what, std::int64_t arena, std::int64_t block, const KeyMask& mask) {
    tables.push_back(fmt::format("{} of {} in arena {}{}", what, block, arena,
                                 mask.kind == MaskKind::full ? "" : fmt::format(", seeing {}", mask.window_tokens)));
  };
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    add("attention", geometry.attention_arena(group), geometry.attention_block(group),
        geometry.attention_masks.empty() ? KeyMask{} : geometry.attention_masks[static_cast<std::size_t>(group)]);
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    add("states", geometry.state_arena(group), geometry.has_state_blocks() ? geometry.state_block() : 0, {});
  for (const HeldGroup& group : geometry.held_groups)
    if (group.rule.is_windowed()) add("attention", group.arena, group.rule.block_tokens, group.rule.mask);
  std::sort(tables.begin(), tables.end());
  std::string text;
  for (const std::string& table : tables) text += (text.empty() ? "" : "; ") + table;
  return text;
}

/// The cache of the plan; what it refuses at its place.
CacheGeometry geometry_in(const AskedQuestion& asked) {
  try {
    return geometry_of(*asked.plan, asked.scenario->engine);
  } catch (const SpecError& error) {
    throw located(error, *asked.scenario);
  }
}

RoomAnswer closed_form_room(const AskedQuestion& asked) {
  return answer_of("closed form", [&](RoomAnswer& answer) {
    const CacheGeometry geometry = geometry_in(asked);
    const std::int64_t length = asked.plan->capacity.back().max_model_len;
    say_cache(answer, geometry);
    answer.says.erase("retention");  // the question may say another one
    answer.says["ids of a request"] = word_of(closed_form_ids(geometry, length));
    answer.says["longest request"] = word_of(longest_request(geometry));
    answer.says["tables"] = tables_of(geometry);
    answer.says["is modelled"] = word_of(geometry.modelled_layout);
  });
}

RoomAnswer forward_room(const AskedQuestion& asked) {
  return answer_of("verify --forward", [&](RoomAnswer& answer) {
    const CacheGeometry geometry = forward_geometry(*asked.plan);
    say_cache(answer, geometry);
    if (asked.scenario->simulate.retention_interval_tokens) answer.says.erase("retention");
    answer.says["tables"] = tables_of(geometry);
  });
}

void say_replay(RoomAnswer& answer, const ReplayCounts& counts) {
  answer.says["requests that ended"] = word_of(counts.ended());
  answer.says["prompt tokens taken"] = word_of(counts.taken_prompt_tokens);
  answer.says["tokens found"] = word_of(counts.hit_tokens);
  answer.says["requests with a hit"] = word_of(counts.requests_with_hit);
  answer.says["states kept"] = word_of(counts.checkpoints_made);
}

/// The pools that a tree with snapshots is replayed through.
void say_pools(RoomAnswer& answer, const IndexStats& stats) {
  if (const auto* const snapshots = std::get_if<SnapshotStats>(&stats))
    answer.says["pools"] = fmt::format("{} and {}, host {} and {}", snapshots->settings.blocks,
                                       snapshots->settings.states, snapshots->settings.host_blocks,
                                       snapshots->settings.host_states);
}

void limit_losses(RoomAnswer& answer, const LossStats& losses, std::int64_t found) {
  const ReuseLoss& total = losses.total;
  answer.says["tokens found"] = word_of(total.found_tokens);
  answer.says["tokens found and lost"] = word_of(total.token_exact_tokens);
  answer.limits.push_back({"tokens found and lost by cause", total.found_tokens + total.total(),
                           total.token_exact_tokens});
  answer.limits.push_back({"tokens shared", total.token_exact_tokens, total.found_tokens + total.total()});
  answer.limits.push_back({"tokens found by the records", found, total.found_tokens});
}

/// Blocks that a request holds beside its own for a moment: where prompts end within a block, each group copies the
/// one that it goes on in, and gives the source back behind the step. No engine counts them at its start.
std::int64_t copied_blocks(const CacheGeometry& geometry, std::int64_t arena) {
  if (!geometry.has_partial_tails()) return 0;
  const GroupCount groups = groups_of_arena(geometry, arena);
  return groups.attention + groups.states;
}

/// Prompts of the trace run one after the other, so that what is held is that of one request. Where the longest length
/// fits, all end.
void limit_held(RoomAnswer& answer, const SimulationStats& stats, const CachePlan& plan) {
  const CacheGeometry& geometry = stats.geometry;
  const bool has_room = plan.max_fitting_tokens >= plan.capacity.back().max_model_len && !geometry.has_partial_tails();
  const std::int64_t without_room = stats.refused + stats.stalled;
  if (has_room) answer.limits.push_back({"requests without room", without_room, 0});
  if (without_room > 0) return;  // they held what there was
  const std::int64_t tokens = geometry.rules.blocks->room_tokens(geometry, stats.longest_prompt_tokens);
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    answer.limits.push_back({fmt::format("blocks held of arena {} by {} tokens", arena, tokens),
                             stats.arenas[static_cast<std::size_t>(arena)].max_held_blocks,
                             request_block_ids(geometry, tokens, arena) + copied_blocks(geometry, arena)});
}

RoomAnswer simulate_room(const AskedQuestion& asked) {
  return answer_of("simulate", [&](RoomAnswer& answer) {
    const Scenario scenario = read_scenario(asked.file);
    SimulateRequest request = scenario.simulate;
    request.losses = request.upper_bounds = true;
    try {
      const ReplayedCache replayed = simulate({request, planned_caches(scenario)}).caches.back();
      say_replay(answer, replayed.counts());
      limit_losses(answer, *replayed.losses, replayed.counts().hit_tokens);
      say_pools(answer, replayed.index);
      if (!has_block_index(*scenario.engine.rules)) return;
      const SimulationStats& stats = replayed.blocks();
      say_cache(answer, stats.geometry);
      if (scenario.simulate.match_unit_tokens) answer.says.erase("match unit of what is found");
      answer.says["longest request"] = word_of(*replayed.longest_request);
      answer.says["is modelled"] = word_of(std::count(stats.modelled.begin(), stats.modelled.end(),
                                                      ModelledRule::layout) > 0);
      limit_held(answer, stats, *asked.plan);
    } catch (const SpecError& error) {
      throw located(scenario_error(error), scenario);
    }
  });
}

/// What `compare` replays.
RoomAnswer compared_replay_room(const AskedQuestion& asked) {
  return answer_of("compare --replay", [&](RoomAnswer& answer) {
    const auto settings = compare_settings({asked.file}, {}, 1);
    const auto replayed = replay_settings(settings, {true});
    say_replay(answer, replayed.front().value().counts());
    answer.says["tokens found and lost"] = word_of(*replayed.front()->token_exact_hit_tokens);
  });
}

RoomAnswer swept_replay_room(const AskedQuestion& asked) {
  return answer_of("sweep --simulate", [&](RoomAnswer& answer) {
    const ScenarioSweep sweep(asked.file);
    const SweepPoint point = SweepWorker(sweep, {.simulate = true}).answer({0}).front();
    if (point.status == PointStatus::impossible) {
      answer.refusal = refusal_of({}, point.reason);
      return;
    }
    say_replay(answer, counts_of(*point.stats));
    say_pools(answer, *point.stats);
    // The whole of its rates, as its row says it.
    const std::string row = SweepRows({.simulated = true, .num_points = 1}).row(point, {});
    answer.says["prompt tokens taken"] = word_of(nlohmann::ordered_json::parse(row).at("taken_prompt_tokens"));
    const SimulationStats* const blocks = point.blocks();
    if (!blocks) return;
    say_cache(answer, blocks->geometry);
    if (asked.scenario->simulate.match_unit_tokens) answer.says.erase("match unit of what is found");
    limit_held(answer, *blocks, *asked.plan);
  });
}

RoomAnswer bound_room(const AskedQuestion& asked) {
  return answer_of("bound", [&](RoomAnswer& answer) {
    const BoundAnswer bound = bounds(compare_settings({asked.file}, {}, 1)).front();
    answer.says["evidence"] = to_string(bound.layout.evidence);
    answer.says["tokens found"] = word_of(bound.found_tokens);
    answer.says["prompt tokens taken"] = word_of(bound.layout.prompt_tokens);
    answer.says["tokens found and lost"] = word_of(bound.token_exact_tokens);
    if (!asked.scenario->simulate.match_unit_tokens)
      answer.says["match unit of what is found"] = word_of(bound.layout.unit_tokens);
  });
}

/// A replay of a request that grows to the longest length takes this many tokens and ids at most.
constexpr std::int64_t most_probed_tokens = 400'000, most_probed_ids = 100'000;
constexpr std::int64_t most_copied_tokens = 5'000;  // the same of a prompt and its copy

/// One request alone, through a cache that takes any length: does it end?
bool ends(CacheGeometry geometry, std::int64_t prompt, std::int64_t output) {
  geometry.scheduler.max_model_len = prompt + output + (output == 0 ? 1 : 0);
  geometry.host.reset();
  SimulateRequest request;
  request.driver = {.kind = output > 0 ? DriverKind::closed_loop : DriverKind::one_at_a_time};
  request.trace.prompts = {{.tokens = prompt, .output_tokens = output}};
  const SimulationStats stats = simulate({request, {geometry}}).caches.front().blocks();
  return stats.refused + stats.stalled + stats.too_long == 0;
}

/// Tokens of a large page: states that a request's earlier chunks left may lie in one more than the plan counts, with
/// its running one among them.
std::int64_t tokens_of_a_large_page(const CacheGeometry& geometry) {
  std::int64_t tokens = 0;
  for (std::int64_t group = 0; geometry.shares_large_pages() && group < geometry.attention_groups; ++group)
    tokens = std::max<std::int64_t>(
        tokens, geometry.attention_block(group) *
                    geometry.blocks_per_large_page[static_cast<std::size_t>(geometry.attention_arena(group))]);
  return tokens;
}

RoomAnswer longest_request_room(const AskedQuestion& asked) {
  return answer_of("a request of the longest length", [&](RoomAnswer& answer) {
    const CacheGeometry geometry = geometry_in(asked);
    const std::int64_t longest = asked.plan->max_fitting_tokens;
    if (longest < 1 || longest > most_probed_tokens || closed_form_ids(geometry, longest) > most_probed_ids) return;
    const std::int64_t held = longest - tokens_of_a_large_page(geometry), output = std::min<std::int64_t>(3, held - 1);
    if (held > 0 && !geometry.has_partial_tails())
      answer.limits.push_back({"requests that do not end", !ends(geometry, held - output, output), 0});
    // Room for an exported state, the block in which a window begins and whole large pages is counted where a request
    // of just that length takes none.
    const bool takes_less = geometry.rules.checkpoint_blocks > 0 || geometry.shares_large_pages() ||
                            !geometry.attention_masks.empty();
    if (!takes_less)
      answer.limits.push_back({"requests a token longer that end", ends(geometry, longest + 1, 0), 0});
  });
}

/// Tokens that a copy of a prompt hits by what the plan says of prefixes, as its report does in words; nothing where
/// that is said of prompts of one chunk and this one has several, or of requests that generate more tokens.
std::optional<std::int64_t> copied_tokens(const CachePlan& plan, std::int64_t tokens) {
  const PrefixPlan& prefix = plan.prefix;
  const std::int64_t unit = prefix.match_unit_tokens, misses = prefix.duplicate_misses_up_to_tokens;
  if (plan.pool_groups) return copied_snapshot_tokens(*plan.pool_groups, block_tokens_of(plan), tokens);
  if (plan.rows) return std::nullopt;
  if (plan.tree_pools && plan.tree_pools->strategy == TreeStrategy::no_buffer) return (tokens - 1) / misses * misses;
  if (tokens > plan.max_num_batched_tokens) return std::nullopt;
  // A drafter of several modules enters a piece of a block when it has read what follows, of the output; and what is
  // kept of the last boundary alone it does not reach from a token or two behind.
  const std::int64_t ahead = plan.lookahead_tokens;
  const bool is_fine = prefix.hash_block_tokens == unit && prefix.scheduler_block_tokens > unit;
  if (ahead > 1 && (is_fine || (tokens - 1) / unit != (tokens - ahead) / unit)) return std::nullopt;
  const std::optional<std::int64_t> nothing_at = prefix.duplicate_misses_multiples_of_tokens;
  if (tokens <= misses || (nothing_at && tokens % *nothing_at == 0)) return 0;
  return (tokens - (misses - unit + 1)) / unit * unit;
}

/// Is there room for a prompt and its copy, and all states that it leaves?
bool has_room_for_copies(const CachePlan& plan, std::int64_t tokens) {
  if (plan.capacity.back().usable_concurrency < 3) return false;
  if (!plan.pool_groups) return true;
  const SnapshotPoints& points = plan.pool_groups->points;
  const std::int64_t periodic = points.interval_tokens > 0 ? tokens / points.interval_tokens : 0;
  const std::int64_t most = periodic + std::ssize(points.from_start) + std::ssize(points.from_end) + 2;
  return plan.arenas[1].num_ids > most;
}

/// What these prompts find, one by one, as the plan has it, whatever the question says of a replay; nothing where not
/// all of them end.
std::optional<std::int64_t> found_by(const AskedQuestion& asked, std::vector<PromptSpec> prompts) {
  Scenario scenario = *asked.scenario;
  scenario.simulate = {};
  SimulateRequest request;
  request.driver = {.kind = DriverKind::one_at_a_time};
  request.trace.prompts = std::move(prompts);
  const ReplayCounts counts = simulate({request, planned_caches(scenario)}).caches.front().counts();
  if (counts.unserved() + counts.too_long > 0) return std::nullopt;
  return counts.hit_tokens;
}

/// What the plan says of copies and of shared prefixes holds where they run alone.
RoomAnswer copies_room(const AskedQuestion& asked) {
  return answer_of("a prompt and its copy", [&](RoomAnswer& answer) {
    const CachePlan& plan = *asked.plan;
    const PrefixPlan& prefix = plan.prefix;
    const std::int64_t unit = prefix.match_unit_tokens, misses = prefix.duplicate_misses_up_to_tokens;
    const std::int64_t longest = std::min(plan.capacity.back().max_model_len - 1, most_copied_tokens);
    for (const std::int64_t tokens : {misses, misses + 1, 3 * unit, 3 * unit + 1, std::int64_t{1000}, longest}) {
      if (tokens < 1 || tokens > longest || !has_room_for_copies(plan, tokens)) continue;
      const std::optional<std::int64_t> said = copied_tokens(plan, tokens);
      const std::optional<std::int64_t> found = found_by(asked, {{.tokens = tokens, .copies = 2}});
      if (!said || !found) continue;
      answer.limits.push_back({fmt::format("tokens of a copy of {}", tokens), *found, *said});
      answer.limits.push_back({fmt::format("tokens said of a copy of {}", tokens), *said, *found});
    }
    const std::int64_t shortest = prefix.min_cacheable_prefix_tokens.value_or(1), whole = shortest + 2 * unit;
    if (whole > longest || !has_room_for_copies(plan, 2 * whole)) return;
    const std::int64_t shared = shortest - 1;
    const PromptSpec parting{.tokens = whole, .shared_tokens = shared, .variants = 2};
    if (const std::optional<std::int64_t> found = found_by(asked, {{.tokens = whole}, parting}))
      answer.limits.push_back({fmt::format("tokens of a shared prefix of {}", shared), *found, 0});
  });
}

}  // namespace

std::vector<RoomAnswer> replaying_rooms(const AskedQuestion& asked) {
  std::vector<RoomAnswer> answers;
  if (asked.plan && has_blocks(asked)) {
    answers.push_back(closed_form_room(asked));
    answers.push_back(forward_room(asked));
  }
  answers.push_back(simulate_room(asked));
  const bool simulate_refuses = answers.back().refusal.has_value();
  if (asked.plan && has_blocks(asked) && !simulate_refuses) answers.push_back(longest_request_room(asked));
  if (asked.plan && asked.plan->prefix.cacheable && !simulate_refuses) answers.push_back(copies_room(asked));
  answers.push_back(compared_replay_room(asked));
  answers.push_back(swept_replay_room(asked));
  answers.push_back(bound_room(asked));
  return answers;
}

}  // namespace hybridkv::testing
