#include "report/simulate_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "planner/engine_rules.h"
#include "report/arena_table.h"
#include "report/host_table.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/loss_report.h"
#include "report/replay_text.h"
#include "report/rules_text.h"
#include "report/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string mode_text(const CacheGeometry& geometry) {
  return geometry.state_groups == 0 ? "attention only" : std::string(to_string(geometry.mode));
}

/// Mean of a field over the series.
template <class Field>
double mean_of(const SimulationStats& stats, Field SeriesPoint::*field) {
  double sum = 0;
  for (const SeriesPoint& point : stats.series.points()) sum += static_cast<double>(point.*field);
  return stats.series.points().empty() ? 0 : sum / static_cast<double>(stats.series.points().size());
}

std::string driver_text(const DriverSpec& driver) {
  switch (driver.kind) {
    case DriverKind::one_at_a_time: return "one request at a time in the order of the trace, prefill only";
    case DriverKind::closed_loop:
      return fmt::format("closed loop, {} in flight, prefill and decode", human_plural(driver.in_flight, "request"));
    case DriverKind::open_loop:
      return fmt::format("open loop by timestamps; {} s a prefill token, {} s a decode step, {} s a copied state",
                         driver.cost.per_prefill_token, driver.cost.per_decode_step, driver.cost.per_copied_state);
  }
  return "?";
}

Table hits_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"block_size_tokens", "block", "tokens"},
               {"num_blocks", "blocks"},
               {"groups", "groups", "att+rec", Align::left},
               {"mode", "mode", "", Align::left},
               {"hit_tokens", "hit", "tokens"},
               {"hit_rate", "hit", "rate"},
               {"requests_with_hit", "requests", "with a hit"}});
  for (const SimulationStats& stats : answer.result.stats) {
    const CacheGeometry& g = stats.geometry;
    table.add_row({g.name, g.block_size_tokens, g.num_blocks, fmt::format("{}+{}", g.attention_groups, g.state_groups),
                   mode_text(g), stats.hit_tokens, Percent{100 * stats.hit_rate()}, stats.requests_with_hit});
  }
  return table;
}

Table pool_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"max_held_blocks", "blocks held", "at most"},
               {"mean_held_blocks", "", "mean"},
               {"state_share", "held by", "states"},
               {"evictions", "blocks", "evicted"},
               {"checkpoints_made", "checkpoints", "made"},
               {"checkpoints_used", "", "used"},
               {"checkpoints_evicted", "", "evicted"}});
  for (const SimulationStats& stats : answer.result.stats) {
    const double held = mean_of(stats, &SeriesPoint::held_blocks);
    const double states = mean_of(stats, &SeriesPoint::held_state_blocks);
    table.add_row({stats.geometry.name, stats.max_held_blocks, Real{held, 1},
                   Percent{held == 0 ? 0 : 100 * states / held, 1}, stats.pool.evictions, stats.pool.checkpoints_made,
                   stats.pool.checkpoints_used, stats.pool.checkpoints_evicted});
  }
  return table;
}

Table load_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"max_running", "running", "at most"},
               {"mean_running", "", "mean"},
               {"too_long", "refused as", "too long"},
               {"refused", "refused", "or stalled"},
               {"preempted_requests", "preempted"},
               {"reprefilled_tokens", "prefilled", "again"},
               {"longest_request", "longest", "that fits"},
               {"steps", "steps"}});
  for (std::size_t i = 0; i < answer.result.stats.size(); ++i) {
    const SimulationStats& stats = answer.result.stats[i];
    table.add_row({stats.geometry.name, stats.max_running, Real{mean_of(stats, &SeriesPoint::running_requests), 1},
                   stats.too_long, stats.refused + stats.stalled, stats.preempted_requests, stats.reprefilled_tokens,
                   Length{answer.longest_requests[i]}, stats.steps});
  }
  return table;
}

Table latency_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"block_size_tokens", "block", "tokens"},
               {"first_token_mean", "first token", "mean, s"},
               {"first_token_p50", "", "p50, s"},
               {"first_token_p99", "", "p99, s"},
               {"queueing_mean", "queueing", "mean, s"},
               {"queueing_p99", "", "p99, s"},
               {"seconds", "simulated", "s"}});
  for (const SimulationStats& stats : answer.result.stats)
    table.add_row({stats.geometry.name, stats.geometry.block_size_tokens, Real{stats.first_token.mean(), 3},
                   Real{stats.first_token.quantile(0.5), 3}, Real{stats.first_token.quantile(0.99), 3},
                   Real{stats.queueing.mean(), 3}, Real{stats.queueing.quantile(0.99), 3}, Real{stats.seconds, 1}});
  return table;
}

/// The first of these positions.
std::string positions_text(const std::vector<std::int64_t>& all) {
  constexpr std::size_t most_shown = 3;
  std::vector<std::string> positions;
  for (std::size_t i = 0; i < all.size() && i < most_shown; ++i) positions.push_back(human_count(all[i]));
  if (all.size() > most_shown) positions.push_back("…");
  return fmt::format("{}", fmt::join(positions, ", "));
}

Table requests_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"block_size_tokens", "block", "tokens"},
               {"idx", "request"},
               {"input_length", "prompt", "tokens"},
               {"hit_tokens", "hit", "tokens"},
               {"hit_rate", "hit", "rate"},
               {"num_chunks", "chunks"},
               {"checkpoints", "checkpoints if cold", "closed form", Align::left},
               {"status", "ended", "", Align::left}});
  for (std::size_t i = 0; i < answer.requests.size(); ++i) {
    const CacheGeometry& g = answer.result.stats[i].geometry;
    for (const auto& [request, checkpoints] : answer.requests[i])
      table.add_row({g.name, g.block_size_tokens, request.index, request.input_length, request.hit_tokens,
                     Percent{100 * share(request.hit_tokens, request.input_length), 1}, request.num_chunks,
                     positions_text(checkpoints), std::string(to_string(request.status))});
  }
  return table;
}

constexpr std::size_t shown_points = 10;

/// One cache over time, in about shown_points lines. Time and the queue mean something with several requests in flight.
Table series_table(const SimulationStats& stats, DriverKind driver) {
  const bool timed = driver != DriverKind::one_at_a_time;
  std::vector<Column> columns{{"ended_requests", "requests", "ended"}};
  if (timed)
    columns.insert(columns.end(), {{"seconds", "simulated", "s"},
                                   {"running_requests", "running"},
                                   {"waiting_requests", "waiting"}});
  columns.insert(columns.end(), {{"held_blocks", "blocks", "held"},
                                 {"state_share", "held by", "states"},
                                 {"findable_blocks", "blocks with", "a prefix"},
                                 {"evictions", "evicted", "so far"},
                                 {"hit_rate", "hit rate", "so far"}});
  Table table(std::move(columns));
  const std::vector<SeriesPoint>& points = stats.series.points();
  const std::size_t shown = std::min(shown_points, points.size());
  for (std::size_t i = 1; i <= shown; ++i) {
    const SeriesPoint& at = points[points.size() * i / shown - 1];
    std::vector<Cell> row{at.ended_requests};
    if (timed) row.insert(row.end(), {Real{at.seconds, 1}, at.running_requests, at.waiting_requests});
    row.insert(row.end(), {at.held_blocks, Percent{100 * share(at.held_state_blocks, at.held_blocks), 1},
                           at.findable_blocks, at.evictions, Percent{100 * share(at.hit_tokens, at.prompt_tokens)}});
    table.add_row(std::move(row));
  }
  return table;
}

/// Hits by turn of the conversation, where the trace says it and there is more than one.
std::optional<Table> turns_table(const SimulationStats& stats) {
  if (stats.turns.size() < 3) return std::nullopt;
  Table table({{"turn", "turn"}, {"requests", "requests"}, {"prompt_tokens", "prompt", "tokens"},
               {"hit_rate", "hit", "rate"}});
  TurnStats later;
  for (std::size_t turn = 1; turn < stats.turns.size(); ++turn) {
    const TurnStats& at = stats.turns[turn];
    if (turn < shown_points) {
      table.add_row({std::to_string(turn), at.requests, at.prompt_tokens,
                     Percent{100 * share(at.hit_tokens, at.prompt_tokens)}});
    } else {
      later.requests += at.requests;
      later.prompt_tokens += at.prompt_tokens;
      later.hit_tokens += at.hit_tokens;
    }
  }
  if (later.requests > 0)
    table.add_row({"later", later.requests, later.prompt_tokens,
                   Percent{100 * share(later.hit_tokens, later.prompt_tokens)}});
  return table;
}

std::string all_modelled(const SimulateAnswer& answer) {
  std::vector<ModelledRule> rules;
  for (const SimulationStats& stats : answer.result.stats)
    rules.insert(rules.end(), stats.modelled.begin(), stats.modelled.end());
  return modelled_sentence(rules);
}

/// What a reader of one cache's rates should know first.
std::vector<std::string> warnings_of(const SimulateAnswer& answer, std::size_t cache) {
  const SimulationStats& stats = answer.result.stats[cache];
  const CacheGeometry& g = stats.geometry;
  std::vector<std::string> sentences;
  if (stats.too_long > 0)
    sentences.push_back(too_long_text(stats.too_long, stats.requests, *g.scheduler.max_model_len) +
                        (stats.too_long == stats.requests ? "." : "; the rates are of the others."));
  if (stats.cut_outputs > 0)
    sentences.push_back(fmt::format("{} at max_model_len ({}), where the engine stops.",
                                    stats.cut_outputs == 1 ? "1 output ends"
                                                           : human_count(stats.cut_outputs) + " outputs end",
                                    human_plural(*g.scheduler.max_model_len, "token")));
  if (stats.refused + stats.stalled > 0)
    sentences.push_back(unserved_text(
        stats.refused + stats.stalled, fmt::format("the pool even alone (it holds {} of one)",
                                                   human_plural(answer.longest_requests[cache], "token"))));
  if (const auto overload = overload_of(answer.driver, stats))
    sentences.push_back(fmt::format("overloaded: {}; latencies say how long the trace is, not how fast the engine.",
                                    overload_text(*overload)));
  if (stats.prompt_tokens > 0 && stats.hit_tokens == 0)
    sentences.push_back(
        why_no_hits("the block", g,
                    {.longest_prompt_tokens = stats.longest_prompt_tokens,
                     .longest_repeat_tokens = cache < answer.longest_repeats.size() ? answer.longest_repeats[cache]
                                                                                    : std::nullopt,
                     .uncached_common_tokens = stats.uncached_common_tokens,
                     .evictions = stats.pool.evictions}) + ".");
  return sentences;
}

/// Each sentence once, with the caches that it is about.
Listing warnings(const SimulateAnswer& answer) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names_of;
  for (std::size_t i = 0; i < answer.result.stats.size(); ++i)
    for (const std::string& sentence : warnings_of(answer, i)) {
      auto known = std::find_if(names_of.begin(), names_of.end(), [&](const auto& of) { return of.first == sentence; });
      if (known == names_of.end()) known = names_of.insert(names_of.end(), {sentence, {}});
      known->second.push_back(answer.result.stats[i].geometry.name);
    }
  Listing listing{.warning = true};
  for (const auto& [sentence, names] : names_of) {
    const bool of_all = names.size() > 1 && names.size() == answer.result.stats.size();
    listing.items.push_back(fmt::format("{}: {}", of_all ? "all caches" : fmt::format("{}", fmt::join(names, "; ")),
                                        sentence));
  }
  return listing;
}

/// The closed form beside the simulation, for requests that came before exactly so.
std::optional<Table> copies_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"copies", "requests"},
               {"copies_prompt_tokens", "prompt", "tokens"},
               {"copies_hit_tokens", "hit", "tokens"},
               {"copies_closed_form_tokens", "closed form", "tokens"}});
  for (const SimulationStats& stats : answer.result.stats)
    if (stats.copies.requests > 0)
      table.add_row({stats.geometry.name, stats.copies.requests, stats.copies.prompt_tokens,
                     stats.copies.simulated_tokens, stats.copies.predicted_tokens});
  if (table.rows().empty()) return std::nullopt;
  return table;
}

ordered_json series_json(const SimulationStats& stats) {
  ordered_json series = ordered_json::array();
  for (const SeriesPoint& point : stats.series.points())
    series.push_back({{"step", point.step},
                      {"seconds", point.seconds},
                      {"ended_requests", point.ended_requests},
                      {"running_requests", point.running_requests},
                      {"waiting_requests", point.waiting_requests},
                      {"held_blocks", point.held_blocks},
                      {"held_state_blocks", point.held_state_blocks},
                      {"findable_blocks", point.findable_blocks},
                      {"findable_state_blocks", point.findable_state_blocks},
                      {"evictions", point.evictions}});
  return series;
}

/// Item i: turn i, 0 = unknown; the last one also counts all later turns.
ordered_json turns_json(const SimulationStats& stats) {
  ordered_json turns = ordered_json::array();
  for (const TurnStats& turn : stats.turns)
    turns.push_back(
        {{"requests", turn.requests}, {"prompt_tokens", turn.prompt_tokens}, {"hit_tokens", turn.hit_tokens}});
  return turns;
}

ordered_json requests_json(const std::vector<ListedRequest>& requests) {
  ordered_json list = ordered_json::array();
  for (const auto& [request, checkpoints] : requests)
    list.push_back({{"idx", request.index},
                    {"input_length", request.input_length},
                    {"hit_tokens", request.hit_tokens},
                    {"num_chunks", request.num_chunks},
                    {"evictions", request.evictions},
                    {"status", to_string(request.status)},
                    {"preemptions", request.preemptions},
                    {"reprefilled_tokens", request.reprefilled_tokens}});
  return list;
}

/// Whose prefix caches and schedulers these are.
std::string rules_of_caches(const SimulateAnswer& answer) {
  std::vector<std::string> titles;
  for (const SimulationStats& stats : answer.result.stats) {
    const std::string title = rules_text(*stats.geometry.rules.engine, std::nullopt);
    if (std::find(titles.begin(), titles.end(), title) == titles.end()) titles.push_back(title);
  }
  return fmt::format("{}", fmt::join(titles, "; "));
}

std::vector<std::string> cache_names(const SimulateAnswer& answer) {
  std::vector<std::string> names;
  for (const SimulationStats& stats : answer.result.stats) names.push_back(stats.geometry.name);
  return names;
}

}  // namespace

Document simulate_report(const SimulateAnswer& answer) {
  Document document;
  document.blocks.emplace_back(Heading{"Replay of " + answer.trace, 1});
  Facts facts{{{"trace", fmt::format("{}, {} prompt tokens", human_plural(answer.result.requests, "request"),
                                     human_count(answer.result.prompt_tokens))},
               {"driver", driver_text(answer.driver)}}};
  if (!answer.result.stats.empty())
    facts.entries.emplace(facts.entries.begin(), "rules", rules_of_caches(answer));
  const std::string policy =
      answer.result.stats.empty() ? "" : policy_text(answer.result.stats.front().geometry.scheduler);
  if (!policy.empty()) facts.entries.emplace_back("policy", policy);
  if (answer.bad_lines > 0) facts.entries.emplace_back("skipped", human_plural(answer.bad_lines, "damaged line"));
  document.blocks.emplace_back(std::move(facts));
  document.blocks.emplace_back(Heading{"What is found again"});
  document.blocks.emplace_back(hits_table(answer));
  if (Listing warned = warnings(answer); !warned.items.empty()) document.blocks.emplace_back(std::move(warned));
  if (!answer.requests.empty()) {
    document.blocks.emplace_back(Heading{"Request by request"});
    document.blocks.emplace_back(requests_table(answer));
  }
  add_losses(document, cache_names(answer), answer.result.losses, answer.result.requests > most_listed_requests);
  document.blocks.emplace_back(Heading{"What the pool holds"});
  document.blocks.emplace_back(pool_table(answer));
  if (std::optional<Table> arenas = arena_table(answer)) {
    document.blocks.emplace_back(Heading{"Arena by arena"});
    document.blocks.emplace_back(*std::move(arenas));
  }
  if (std::optional<Table> host = host_table(answer)) {
    document.blocks.emplace_back(Heading{"Memory of the host"});
    document.blocks.emplace_back(*std::move(host));
    document.blocks.emplace_back(Paragraph{host_text});
  }
  document.blocks.emplace_back(Heading{"What becomes of the requests"});
  document.blocks.emplace_back(load_table(answer));
  if (answer.result.stats.size() == 1) {
    const SimulationStats& stats = answer.result.stats.front();
    if (std::optional<Table> turns = turns_table(stats)) {
      document.blocks.emplace_back(Heading{"By turn of the conversation"});
      document.blocks.emplace_back(*std::move(turns));
    }
    if (answer.result.requests > most_listed_requests) {
      document.blocks.emplace_back(Heading{"Over time"});
      document.blocks.emplace_back(series_table(stats, answer.driver.kind));
    }
  }
  if (answer.driver.kind == DriverKind::open_loop) {
    document.blocks.emplace_back(Heading{"Waiting"});
    document.blocks.emplace_back(latency_table(answer));
  }
  if (std::optional<Table> copies = copies_table(answer)) {
    document.blocks.emplace_back(Heading{"Exact copies of earlier prompts"});
    document.blocks.emplace_back(*std::move(copies));
    document.blocks.emplace_back(
        Paragraph{answer.driver.kind == DriverKind::one_at_a_time
                      ? "The closed form is for a cache that loses nothing in between."
                      : "The closed form is for a cache that loses nothing in between, and for requests that come one "
                        "after the other."});
  }
  if (!answer.result.unlimited.empty()) {
    document.blocks.emplace_back(Heading{"Upper bounds"});
    document.blocks.emplace_back(upper_bounds_table(answer));
    document.blocks.emplace_back(Paragraph{token_exact_text});
    if (!answer.bounds.empty()) document.blocks.emplace_back(Paragraph{bound_text});
  }
  document.blocks.emplace_back(Paragraph{all_modelled(answer)});
  return document;
}

Table simulate_table(const SimulateAnswer& answer) {
  Table table({{"name", "cache"}, {"block_size_tokens", "block"}, {"num_blocks", "blocks"},
               {"attention_groups", "attention groups"}, {"state_groups", "state groups"}, {"mode", "mode"},
               {"match_unit_tokens", "match unit"}, {"requests", "requests"}, {"prompt_tokens", "prompt tokens"},
               {"hit_tokens", "hit tokens"}, {"hit_rate", "hit rate"}, {"requests_with_hit", "requests with a hit"},
               {"checkpoints_made", "checkpoints made"}, {"checkpoints_used", "checkpoints used"},
               {"checkpoints_evicted", "checkpoints evicted"}, {"evictions", "evictions"},
               {"max_held_blocks", "most blocks held"}, {"max_held_state_blocks", "most state blocks held"},
               {"max_running", "most running"}, {"max_model_len", "max model len"},
               {"too_long", "refused as too long"}, {"cut_outputs", "outputs cut at max model len"},
               {"refused", "refused"}, {"stalled", "stalled"},
               {"preemptions", "preemptions"}, {"preempted_requests", "preempted requests"},
               {"reprefilled_tokens", "tokens prefilled again"}, {"longest_request", "longest request"},
               {"generated_tokens", "generated tokens"},
               {"prefill_chunks", "prefill chunks"}, {"copied_states", "copied states"}, {"steps", "steps"},
               {"seconds", "simulated seconds"}, {"first_token_mean_seconds", "mean s to first token"},
               {"first_token_p50_seconds", "p50"}, {"first_token_p99_seconds", "p99"},
               {"queueing_mean_seconds", "mean s queueing"}, {"queueing_p99_seconds", "p99"},
               {"copies", "exact copies"}, {"copies_hit_tokens", "hit tokens of copies"},
               {"copies_closed_form_tokens", "closed form of those"},
               {"unlimited_hit_tokens", "hit tokens, unlimited pool"},
               {"token_exact_hit_tokens", "hit tokens, token-exact"},
               {"feasible_tokens", "possible tokens"}, {"upper_tokens", "tokens that no policy passes"},
               {"taken_prompt_tokens", "whole of all shares"}, {"modelled", "modelled rules"},
               {"overloaded", "overloaded"}});
  // Only the open loop has arrivals to wait since.
  const auto latency = [&](double seconds) {
    return answer.driver.kind == DriverKind::open_loop ? Cell(Real{seconds, 6}) : Cell(std::monostate{});
  };
  for (std::size_t i = 0; i < answer.result.stats.size(); ++i) {
    const SimulationStats& stats = answer.result.stats[i];
    const CacheGeometry& g = stats.geometry;
    std::vector<std::string> rules;
    for (const ModelledRule rule : stats.modelled) rules.emplace_back(to_string(rule));
    table.add_row({g.name, g.block_size_tokens, g.num_blocks, g.attention_groups, g.state_groups, mode_text(g),
                   g.match_unit(), stats.requests, stats.prompt_tokens, stats.hit_tokens, Real{stats.hit_rate(), 6},
                   stats.requests_with_hit, stats.pool.checkpoints_made, stats.pool.checkpoints_used,
                   stats.pool.checkpoints_evicted, stats.pool.evictions, stats.max_held_blocks,
                   stats.max_held_state_blocks, stats.max_running, cell_of(g.scheduler.max_model_len), stats.too_long,
                   stats.cut_outputs, stats.refused, stats.stalled, stats.preemptions,
                   stats.preempted_requests, stats.reprefilled_tokens, Length{answer.longest_requests[i]},
                   stats.generated_tokens,
                   stats.prefill_chunks,
                   stats.copied_states, stats.steps, Real{stats.seconds, 6}, latency(stats.first_token.mean()),
                   latency(stats.first_token.quantile(0.5)), latency(stats.first_token.quantile(0.99)),
                   latency(stats.queueing.mean()), latency(stats.queueing.quantile(0.99)), stats.copies.requests,
                   stats.copies.simulated_tokens, stats.copies.predicted_tokens,
                   answer.result.unlimited.empty() ? Cell(std::monostate{})
                                                   : Cell(answer.result.unlimited[i].hit_tokens),
                   answer.result.token_exact_hit_tokens.empty()
                       ? Cell(std::monostate{})
                       : Cell(answer.result.token_exact_hit_tokens[i]),
                   feasible_cell(answer.bounds, i), upper_cell(answer.bounds, i),
                   stats.taken_prompt_tokens, fmt::format("{}", fmt::join(rules, ", ")),
                   cell_of(is_overloaded(answer.driver, stats))});
  }
  return table;
}

std::string render_simulate(const SimulateAnswer& answer, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(simulate_report(answer), style);
    case Format::markdown: return render_markdown(simulate_report(answer));
    case Format::csv: return render_csv(with_losses(simulate_table(answer), answer.result.losses));
    case Format::json: break;
  }
  ordered_json json;
  json["schema"] = simulate_schema_id;
  json["trace"] = answer.trace;
  json["driver"] = to_string(answer.driver.kind);
  json["requests"] = answer.result.requests;
  json["prompt_tokens"] = answer.result.prompt_tokens;
  json["bad_lines"] = answer.bad_lines;
  json["caches"] = to_json(simulate_table(answer));
  for (std::size_t i = 0; i < answer.result.stats.size(); ++i) {
    const SchedulerSettings& settings = answer.result.stats[i].geometry.scheduler;
    if (!policy_text(settings).empty()) {
      json["caches"][i]["eviction"] = to_string(settings.eviction);
      json["caches"][i]["checkpoint_back"] = settings.checkpoint_back;
    }
    if (answer.result.stats[i].host) json["caches"][i]["host"] = host_json(answer.result.stats[i]);
    json["caches"][i]["series"] = series_json(answer.result.stats[i]);
    if (ordered_json arenas = arenas_json(answer.result.stats[i]); !arenas.empty())
      json["caches"][i]["arenas"] = std::move(arenas);
    json["caches"][i]["turns"] = turns_json(answer.result.stats[i]);
  }
  for (std::size_t i = 0; i < answer.result.losses.size(); ++i)
    json["caches"][i]["losses"] = losses_json(answer.result.losses[i]);
  if (!answer.requests.empty())
    for (std::size_t i = 0; i < answer.requests.size(); ++i)
      json["caches"][i]["per_request"] = requests_json(answer.requests[i]);
  return json_text(json);
}

}  // namespace hybridkv
