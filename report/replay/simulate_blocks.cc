#include "report/replay/index_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/add_once.h"
#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/plan/arena_table.h"
#include "report/plan/rules_text.h"
#include "report/replay/block_rows.h"
#include "report/replay/host_table.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Mean of a field over the series.
template <class Number>
double mean_of(const SimulationStats& stats, Number SeriesPoint::*field) {
  double sum = 0;
  for (const SeriesPoint& point : stats.series.points()) sum += static_cast<double>(point.*field);
  return stats.series.points().empty() ? 0 : sum / static_cast<double>(stats.series.points().size());
}

std::string block_driver_text(const DriverSpec& driver) {
  switch (driver.kind) {
    case DriverKind::one_at_a_time: return "one request at a time in the order of the trace, prefill only";
    case DriverKind::closed_loop:
      return fmt::format("closed loop, {}, {}", in_flight_text(driver),
                         driver.clock ? "by a clock" : "prefill and decode");
    case DriverKind::open_loop:
      if (driver.clock)
        return driver.rate == 1 ? "open loop by timestamps, by a clock"
                                : fmt::format("open loop by timestamps, {:g} times as fast, by a clock", driver.rate);
      return fmt::format("open loop by timestamps; {} s a prefill token, {} s a decode step, {} s a copied state",
                         driver.cost.per_prefill_token, driver.cost.per_decode_step, driver.cost.per_copied_state);
  }
  return "?";
}

Table block_hits(const SimulateAnswer& answer) {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::geometry<&CacheGeometry::block_size_tokens>({"block_size_tokens", "block", "tokens"}),
      Blocks::geometry<&CacheGeometry::num_blocks>({"num_blocks", "blocks"}),
      {{"groups", "groups", "att+rec", Align::left},
       [](const Blocks::Row& row) {
         return Cell(fmt::format("{}+{}", row.stats.geometry.attention_groups, row.stats.geometry.state_groups));
       }},
      {{"mode", "mode", "", Align::left}, [](const auto& row) { return mode_text(row.stats.geometry); }},
      Blocks::of<&SimulationStats::hit_tokens>({"hit_tokens", "hit", "tokens"}),
      {{"hit_rate", "hit", "rate"}, [](const auto& row) { return Percent{100 * row.stats.hit_rate()}; }},
      Blocks::of<&SimulationStats::requests_with_hit>({"requests_with_hit", "requests", "with a hit"})};
  return Blocks::table(fields, answer);
}

Table pool_table(const SimulateAnswer& answer) {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::of<&SimulationStats::max_held_blocks>({"max_held_blocks", "blocks held", "at most"}),
      {{"mean_held_blocks", "", "mean"},
       [](const auto& row) { return Real{mean_of(row.stats, &SeriesPoint::held_blocks), 1}; }},
      {{"state_share", "held by", "states"},
       [](const Blocks::Row& row) {
         const double held = mean_of(row.stats, &SeriesPoint::held_blocks);
         const double states = mean_of(row.stats, &SeriesPoint::held_state_blocks);
         return Cell(Percent{held == 0 ? 0 : 100 * states / held, 1});
       }},
      {{"evictions", "blocks", "evicted"}, [](const auto& row) { return row.stats.pool.evictions; }},
      Blocks::of<&SimulationStats::checkpoints_made>({"checkpoints_made", "checkpoints", "made"}),
      Blocks::of<&SimulationStats::checkpoints_used>({"checkpoints_used", "", "used"}),
      Blocks::of<&SimulationStats::checkpoints_evicted>({"checkpoints_evicted", "", "evicted"})};
  return Blocks::table(fields, answer);
}

Table load_table(const SimulateAnswer& answer) {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::of<&SimulationStats::max_running>({"max_running", "running", "at most"}),
      {{"mean_running", "", "mean"},
       [](const auto& row) { return Real{mean_of(row.stats, &SeriesPoint::running_requests), 1}; }},
      Blocks::of<&SimulationStats::too_long>({"too_long", "refused as", "too long"}),
      {{"refused", "refused", "or stalled"}, [](const auto& row) { return row.stats.unserved(); }},
      Blocks::of<&SimulationStats::preempted_requests>({"preempted_requests", "preempted"}),
      Blocks::of<&SimulationStats::reprefilled_tokens>({"reprefilled_tokens", "prefilled", "again"}),
      {{"longest_request", "longest", "that fits"},
       [](const auto& row) { return Length{row.cache.longest_request.value_or(0)}; }},
      Blocks::of<&SimulationStats::steps>({"steps", "steps"})};
  return Blocks::table(fields, answer);
}

Table latency_table(const SimulateAnswer& answer) {
  static const Blocks::List fields{
      Blocks::name(),
      Blocks::geometry<&CacheGeometry::block_size_tokens>({"block_size_tokens", "block", "tokens"}),
      {{"first_token_mean", "first token", "mean, s"},
       [](const auto& row) { return Real{row.stats.first_token.mean(), 3}; }},
      {{"first_token_p50", "", "p50, s"}, [](const auto& row) { return Real{row.stats.first_token.quantile(0.5), 3}; }},
      {{"first_token_p99", "", "p99, s"},
       [](const auto& row) { return Real{row.stats.first_token.quantile(0.99), 3}; }},
      {{"queueing_mean", "queueing", "mean, s"}, [](const auto& row) { return Real{row.stats.queueing.mean(), 3}; }},
      {{"queueing_p99", "", "p99, s"}, [](const auto& row) { return Real{row.stats.queueing.quantile(0.99), 3}; }},
      {{"seconds", "simulated", "s"}, [](const auto& row) { return Real{row.stats.seconds, 1}; }}};
  return Blocks::table(fields, answer);
}

/// The first of these positions.
std::string positions_text(const std::vector<std::int64_t>& all) {
  constexpr std::size_t most_shown = 3;
  std::vector<std::string> positions;
  for (std::size_t i = 0; i < all.size() && i < most_shown; ++i) positions.push_back(human_count(all[i]));
  if (all.size() > most_shown) positions.push_back("…");
  return fmt::format("{}", fmt::join(positions, ", "));
}

Table block_requests(const SimulateAnswer& answer) {
  using Row = RequestRow<RequestRecord>;
  const auto of = [](auto member) { return via(&Row::record, member); };
  const auto rate = [](const RequestRecord& request) {
    return Percent{100 * share(request.hit_tokens, request.input_length), 1};
  };
  return requests_table<RequestRecord>(
      {{{"name", "cache"}, via(&Row::cache, &ReplayedCache::name)},
       {{"block_size_tokens", "block", "tokens"},
        [](const Row& row) { return row.cache->blocks().geometry.block_size_tokens; }},
       {{"idx", "request"}, of(&RequestRecord::index)},
       {{"input_length", "prompt", "tokens"}, of(&RequestRecord::input_length)},
       {{"hit_tokens", "hit", "tokens"}, of(&RequestRecord::hit_tokens)},
       {{"hit_rate", "hit", "rate"}, of(rate)},
       {{"num_chunks", "chunks"}, of(&RequestRecord::num_chunks)},
       {{"checkpoints", "checkpoints if cold", "closed form"},
        [](const Row& row) { return positions_text(row.listed->cold_checkpoints); }},
       {{"status", "ended"}, of(&RequestRecord::status)}},
      answer.caches);
}

constexpr std::size_t shown_points = 10;

/// One cache over time, in about shown_points lines. Time and the queue mean something with several requests in flight.
Table series_table(const SimulationStats& stats, DriverKind driver) {
  const bool timed = driver != DriverKind::one_at_a_time;
  const auto percent = [](auto part, auto whole, int digits) {
    return [=](const SeriesPoint& at) { return Percent{100 * share(at.*part, at.*whole), digits}; };
  };
  std::vector<SeriesPoint> rows;
  const std::vector<SeriesPoint>& points = stats.series.points();
  const std::size_t shown = std::min(shown_points, points.size());
  for (std::size_t i = 1; i <= shown; ++i) rows.push_back(points[points.size() * i / shown - 1]);
  return table_of<SeriesPoint>(
      {{{"ended_requests", "requests", "ended"}, &SeriesPoint::ended_requests},
       {{"seconds", "simulated", "s"}, as<Real>(&SeriesPoint::seconds, 1), timed},
       {{"running_requests", "running"}, &SeriesPoint::running_requests, timed},
       {{"waiting_requests", "waiting"}, &SeriesPoint::waiting_requests, timed},
       {{"held_blocks", "blocks", "held"}, &SeriesPoint::held_blocks},
       {{"state_share", "held by", "states"}, percent(&SeriesPoint::held_state_blocks, &SeriesPoint::held_blocks, 1)},
       {{"findable_blocks", "blocks with", "a prefix"}, &SeriesPoint::findable_blocks},
       {{"evictions", "evicted", "so far"}, &SeriesPoint::evictions},
       {{"hit_rate", "hit rate", "so far"}, percent(&SeriesPoint::hit_tokens, &SeriesPoint::prompt_tokens, 2)}},
      rows);
}

/// Hits by turn of the conversation, where the trace says it and there is more than one. Turns beyond shown_points are
/// one row.
std::optional<Table> turns_table(const SimulationStats& stats) {
  if (stats.turns.size() < 3) return std::nullopt;
  using Row = std::pair<std::string, TurnStats>;
  std::vector<Row> rows;
  for (std::size_t turn = 1; turn < stats.turns.size(); ++turn) {
    if (turn <= shown_points) rows.emplace_back(turn < shown_points ? std::to_string(turn) : "later", TurnStats());
    rows.back().second.requests += stats.turns[turn].requests;
    rows.back().second.prompt_tokens += stats.turns[turn].prompt_tokens;
    rows.back().second.hit_tokens += stats.turns[turn].hit_tokens;
  }
  const auto rate = [](const Row& row) {
    return Percent{100 * share(row.second.hit_tokens, row.second.prompt_tokens)};
  };
  return table_of<Row>({{{"turn", "turn", "", Align::right}, &Row::first},
                        {{"requests", "requests"}, via(&Row::second, &TurnStats::requests)},
                        {{"prompt_tokens", "prompt", "tokens"}, via(&Row::second, &TurnStats::prompt_tokens)},
                        {{"hit_rate", "hit", "rate"}, rate}},
                       rows);
}

/// What a reader of one cache's rates should know first.
std::vector<std::string> block_warnings(const SimulateAnswer& answer, const ReplayedCache& cache) {
  const SimulationStats& stats = cache.blocks();
  std::vector<std::string> sentences =
      unserved_warnings(cache, fmt::format("the pool even alone (it holds {} of one)",
                                           human_plural(cache.longest_request.value_or(0), "token")));
  if (stats.cut_outputs > 0)
    sentences.insert(sentences.begin() + (stats.too_long > 0 ? 1 : 0),
                     fmt::format("{} at max_model_len ({}), where the engine stops.",
                                 stats.cut_outputs == 1 ? "1 output ends"
                                                        : human_count(stats.cut_outputs) + " outputs end",
                                 human_plural(*cache.max_model_len, "token")));
  if (const auto overload = overload_of(answer.driver, stats))
    sentences.push_back(fmt::format("overloaded: {}; latencies say how long the trace is, not how fast the engine.",
                                    overload_text(*overload)));
  if (const std::string why = why_no_hits(stats, cache.longest_repeat); !why.empty()) sentences.push_back(why + ".");
  return sentences;
}

/// The closed form beside the simulation, for requests that came before exactly so.
std::optional<Table> copies_table(const SimulateAnswer& answer) {
  using Row = const ReplayedCache*;
  const auto of = [](auto member) { return [=](Row row) { return row->blocks().copies.*member; }; };
  std::vector<Row> rows;
  for (const ReplayedCache& cache : answer.caches)
    if (cache.blocks().copies.requests > 0) rows.push_back(&cache);
  if (rows.empty()) return std::nullopt;
  return table_of<Row>({{{"name", "cache"}, &ReplayedCache::name},
                        {{"copies", "requests"}, of(&CopyStats::requests)},
                        {{"copies_prompt_tokens", "prompt", "tokens"}, of(&CopyStats::prompt_tokens)},
                        {{"copies_hit_tokens", "hit", "tokens"}, of(&CopyStats::simulated_tokens)},
                        {{"copies_closed_form_tokens", "closed form", "tokens"}, of(&CopyStats::predicted_tokens)}},
                       rows);
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

/// Whose prefix caches and schedulers these are.
std::string rules_of_caches(const SimulateAnswer& answer) {
  std::vector<std::string> titles;
  for (const ReplayedCache& cache : answer.caches) {
    const std::string title = rules_text(*cache.blocks().geometry.rules.engine, std::nullopt);
    add_once(titles, title);
  }
  return fmt::format("{}", fmt::join(titles, "; "));
}

void add_section(std::vector<Block>& blocks, const char* title, std::optional<Table> table) {
  if (!table) return;
  blocks.emplace_back(Heading{title});
  blocks.emplace_back(*std::move(table));
}

/// What the pools hold, and what becomes of the requests.
std::vector<Block> held_blocks(const SimulateAnswer& answer) {
  std::vector<Block> blocks;
  add_section(blocks, "What the pool holds", pool_table(answer));
  add_section(blocks, "Arena by arena", arena_table(answer));
  if (std::optional<Table> host = host_table(answer)) {
    add_section(blocks, "Memory of the host", std::move(host));
    blocks.emplace_back(Paragraph{host_text});
  }
  add_section(blocks, "What becomes of the requests", load_table(answer));
  if (answer.caches.size() == 1) {
    const SimulationStats& stats = answer.caches.front().blocks();
    add_section(blocks, "By turn of the conversation", turns_table(stats));
    if (answer.requests > most_listed_requests)
      add_section(blocks, "Over time", series_table(stats, answer.driver.kind));
  }
  if (answer.driver.kind == DriverKind::open_loop && !answer.timed)
    add_section(blocks, "Waiting", latency_table(answer));
  if (std::optional<Table> copies = copies_table(answer)) {
    add_section(blocks, "Exact copies of earlier prompts", std::move(copies));
    blocks.emplace_back(
        Paragraph{answer.driver.kind == DriverKind::one_at_a_time
                      ? "The closed form is for a cache that loses nothing in between."
                      : "The closed form is for a cache that loses nothing in between, and for requests that come one "
                        "after the other."});
  }
  return blocks;
}

IndexReport block_report(const SimulateAnswer& answer) {
  IndexReport report{.rules = rules_of_caches(answer),
                     .facts = {{"driver", block_driver_text(answer.driver)}},
                     .hits = block_hits(answer),
                     .warnings = {},
                     .requests = block_requests(answer),
                     .held = held_blocks(answer),
                     .footer = {}};
  const std::string policy = policy_text(answer.caches.front().blocks().geometry.scheduler);
  if (!policy.empty()) report.facts.emplace_back("policy", policy);
  std::vector<ModelledRule> rules;
  for (const ReplayedCache& cache : answer.caches) {
    report.warnings.push_back(block_warnings(answer, cache));
    rules.insert(rules.end(), cache.blocks().modelled.begin(), cache.blocks().modelled.end());
  }
  report.footer = modelled_sentence(rules);
  return report;
}

ordered_json block_extras(const ReplayedCache& cache) {
  const SimulationStats& stats = cache.blocks();
  ordered_json json;
  const SchedulerSettings& settings = stats.geometry.scheduler;
  if (!policy_text(settings).empty()) {
    json["eviction"] = settings.eviction_name();
    json["checkpoint_back"] = settings.checkpoint_back;
  }
  if (stats.host) json["host"] = host_json(stats);
  json["series"] = series_json(stats);
  if (ordered_json arenas = arenas_json(stats); !arenas.empty()) json["arenas"] = std::move(arenas);
  json["turns"] = turns_json(stats);
  return json;
}

ordered_json block_requests_json(const ReplayedCache& cache) {
  ordered_json list = ordered_json::array();
  for (const ListedRequest& listed : cache.requests) {
    const auto& request = std::get<RequestRecord>(listed.record);
    list.push_back({{"idx", request.index},
                    {"input_length", request.input_length},
                    {"hit_tokens", request.hit_tokens},
                    {"num_chunks", request.num_chunks},
                    {"evictions", request.evictions},
                    {"status", to_string(request.status)},
                    {"preemptions", request.preemptions},
                    {"reprefilled_tokens", request.reprefilled_tokens}});
  }
  return list;
}

}  // namespace

const IndexReporter blocks_reporter{block_report, blocks_table, block_extras, block_requests_json};

}  // namespace hybridkv
