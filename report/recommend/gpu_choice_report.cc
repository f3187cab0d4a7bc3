#include "report/recommend/gpu_choice_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "ask/clock/served_clock.h"
#include "ask/clock/service_figures.h"
#include "base/number_text.h"
#include "report/field.h"
#include "report/json_text.h"
#include "report/recommend/recommend_text.h"
#include "report/recommend/search_reporter.h"
#include "report/replay/times_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;
using EngineGpuChoices = std::span<const EngineGpuChoice>;

/// A deployment that was tried, and whose it is.
struct GpuChoiceRow {
  const EngineGpuChoice* engine;
  std::size_t at;

  const GpuChoice& answer() const { return *engine->answer; }
  const Deployment& tried() const { return answer().tried[at]; }
  const ServedTimes& times() const { return tried().cached; }
  const ClockError& error() const { return answer().timed.served.source.error(); }
  bool is_pick() const { return answer().pick == at; }
  /// Requests a second of all replicas that keep the limits.
  double good_rate() const {
    return per_second(times(), tried().replicas / tried().cached_replicas() * times().good_requests());
  }
  /// Of a million generated tokens.
  std::optional<double> price() const {
    return price_of_million(times(), static_cast<double>(tried().ranks * tried().cached_replicas()),
                            answer().timed.price_per_gpu_hour, times().generated_tokens());
  }
  std::string settings() const {
    const RecommendAnswer& found = answer().search_of(tried()).answer;
    return reporter_of(found.result).settings(found, found.result.candidates[tried().candidate]);
  }
};

/// "2 H200 as 2 replicas of 1 rank behind states".
std::string machine_text(const Deployment& one, const std::string& gpu) {
  return fmt::format("{} {} as {} of {}{}", one.gpus(), gpu, human_plural(one.replicas, "replica"),
                     human_plural(one.ranks, "rank"),
                     one.router ? fmt::format(" behind {}", to_string(*one.router)) : "");
}

/// Is any of them replayed behind a router?
bool is_routed(const std::vector<GpuChoiceRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const GpuChoiceRow& row) { return row.tried().router.has_value(); });
}

/// What a number of GPUs below the pick keeps at best.
std::string fewer_text(const GpuChoice& answer, const Deployment& pick) {
  const Deployment* best = nullptr;
  for (const Deployment& one : answer.tried)
    if (one.gpus() < pick.gpus() && (!best || good_share(one.cached) > good_share(best->cached))) best = &one;
  if (!best) return {};
  return fmt::format(" With {} it is {}.", best->gpus(), human_share(good_share(best->cached)));
}

std::string verdict_of_pick(const GpuChoiceRow& row) {
  const GpuChoice& answer = row.answer();
  const Deployment& pick = row.tried();
  const std::string limits = limits_text(answer.timed.limits);
  std::string text = fmt::format("Take {}, {} with {}: ", machine_text(pick, answer.timed.served.gpu),
                                 row.engine->release, row.settings());
  if (answer.asks_most_load())
    text += fmt::format("up to {:g} times the rate of the trace {} of the requests get {}, {} a second.", pick.rate,
                        human_share(good_share(row.times())), limits, human_real(row.good_rate()));
  else
    text += fmt::format("{} of the requests get {}.", human_share(good_share(row.times())), limits);
  text += fmt::format(" A first token comes after {}", with_error(row.times().first_token.mean(),
                                                                 row.error().first_token_median));
  if (row.times().output_token.count() > 0)
    text += fmt::format(", each further one after {}", with_error(row.times().output_token.mean(),
                                                                  row.error().output_token_median));
  text += " (means, and the clock's median error).";
  if (answer.most_rate) text += fmt::format(" They hold up to {:g} times the rate of the trace.", *answer.most_rate);
  return text + fewer_text(answer, pick);
}

std::string caution(const GpuChoiceRow& row) {
  return fmt::format("Were every time longer by that error, {} of the requests would keep the limits{}. Without prefix "
                     "caching {} do.", human_share(row.answer().share_if_slower),
                     row.answer().share_if_slower < row.answer().good_share ? ": leave a margin, or calibrate" : "",
                     human_share(good_share(row.tried().uncached)));
}

/// Where nothing holds: what comes nearest.
std::string verdict_of_none(const std::vector<GpuChoiceRow>& rows) {
  using Row = GpuChoiceRow;
  const Row& nearest = *std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return good_share(a.times()) < good_share(b.times());
  });
  const GpuChoice& answer = nearest.answer();
  std::string text = fmt::format("None of {} {} suffices: nowhere do {} of the requests get {}. Nearest is {}, {} with "
                                 "{}: {}", fmt::join(answer.gpus, ", "), answer.timed.served.gpu,
                                 human_share(answer.good_share), limits_text(answer.timed.limits),
                                 machine_text(nearest.tried(), answer.timed.served.gpu), nearest.engine->release,
                                 nearest.settings(), human_share(good_share(nearest.times())));
  if (nearest.times().overloaded()) text += ", and more requests come than are served";
  return text + ". Take more GPUs, longer limits, or a lower --rate.";
}

Table tried_table(const std::vector<GpuChoiceRow>& rows, bool several) {
  using Row = GpuChoiceRow;
  const GpuChoice& first = rows.front().answer();
  const auto right = [](const char* title, const char* below) { return for_people(title, below, Align::right); };
  // At the highest rate that was found every row that has one holds.
  Column holds{"holds", "holds"};
  if (first.asks_most_load()) holds = for_programs("holds");
  return table_of<Row>(
      {{{"engine", "engine", "", Align::left}, [](const Row& row) { return row.engine->release; }, several},
       {{"gpus", "GPUs"}, [](const Row& row) { return row.tried().gpus(); }},
       {{"replicas", "repli-", "cas"}, [](const Row& row) { return row.tried().replicas; }},
       {{"ranks", "ranks"}, [](const Row& row) { return row.tried().ranks; }},
       {{"router", "router", "", Align::left},
        [](const Row& row) { return row.tried().router ? std::string(to_string(*row.tried().router)) : std::string(); },
        is_routed(rows)},
       {{"rate", "times", "the rate"},
        [](const Row& row) { return Real{row.tried().rate, 2}; },
        first.asks_most_load()},
       {right("first token", "mean"),
        [](const Row& row) { return with_error(row.times().first_token.mean(), row.error().first_token_median); }},
       {right("", "p99"), [](const Row& row) { return human_seconds(row.times().first_token.quantile(0.99)); }},
       {right("each further", "token"),
        [](const Row& row) { return with_error(row.times().output_token.mean(), row.error().output_token_median); }},
       {{"good_percent", "within", "limits"},
        [](const Row& row) { return Percent{100 * good_share(row.times()), 1}; }},
       {{"good_requests_per_second", "of them", "a second"}, [](const Row& row) { return Real{row.good_rate(), 2}; }},
       {{"uncached_good_percent", "without", "caching"},
        [](const Row& row) { return Percent{100 * good_share(row.tried().uncached), 1}; }},
       {{"price_per_million_generated", "price of", "a million"},
        [](const Row& row) { return Real{row.price().value_or(0), 2}; },
        first.timed.price_per_gpu_hour.has_value()},
       {holds, [](const Row& row) { return row.tried().holds; }},
       {for_programs("rate_of_replica"), [](const Row& row) { return Real{row.tried().rate_of_replica(), 6}; }},
       {for_programs("first_token_mean_seconds"),
        [](const Row& row) { return Real{row.times().first_token.mean(), 6}; }},
       {for_programs("first_token_p99_seconds"),
        [](const Row& row) { return Real{row.times().first_token.quantile(0.99), 6}; }},
       {for_programs("output_token_mean_seconds"),
        [](const Row& row) { return Real{row.times().output_token.mean(), 6}; }},
       {for_programs("first_token_error_percent"),
        [](const Row& row) { return Real{row.error().first_token_median, 1}; }},
       {for_programs("output_token_error_percent"),
        [](const Row& row) { return Real{row.error().output_token_median, 1}; }},
       {for_programs("overloaded"), [](const Row& row) { return row.times().overloaded(); }},
       {for_programs("settings"), &Row::settings},
       {for_programs("is_pick"), &Row::is_pick}},
      rows);
}

std::vector<GpuChoiceRow> rows_of(EngineGpuChoices engines) {
  std::vector<GpuChoiceRow> rows;
  for (const EngineGpuChoice& engine : engines)
    if (engine.answer)
      for (std::size_t at = 0; at < engine.answer->tried.size(); ++at) rows.push_back({&engine, at});
  return rows;
}

/// Of several engines each with the deployment to take of it, or what comes nearest.
std::vector<GpuChoiceRow> rows_side_by_side(const std::vector<GpuChoiceRow>& all) {
  std::vector<GpuChoiceRow> rows;
  for (const GpuChoiceRow& row : all) {
    const bool is_other = rows.empty() || rows.back().engine != row.engine;
    if (is_other) rows.push_back(row);
    else if (row.is_pick() ||
             (!row.answer().pick && good_share(row.times()) > good_share(rows.back().times()))) rows.back() = row;
  }
  return rows;
}

/// Who does not answer, and which ranks do not.
Listing refusals(EngineGpuChoices engines) {
  Listing listing{.items = {}, .warning = true};
  for (const EngineGpuChoice& engine : engines) {
    if (!engine.answer) {
      listing.items.push_back(fmt::format("{}: refused: {}", engine.release, engine.refused));
      continue;
    }
    for (const RefusedRanks& refused : engine.answer->refused)
      listing.items.push_back(fmt::format("{}{}: {}", engines.size() > 1 ? engine.release + ", " : "",
                                          human_plural(refused.ranks, "rank"), refused.why));
  }
  return listing;
}

std::vector<std::string> assumptions(EngineGpuChoices engines, bool routed) {
  std::vector<std::string> items{
      routed
          ? "Several replicas are replayed, each exactly, behind each router that was named; routers are modelled by "
            "their published rules (docs/fleet.md). Without caching: one of them, with its share of the requests."
          : "Replicas share the requests out evenly: one of them is replayed with the whole trace, whose requests come "
            "as many times as slowly as there are replicas. So a router is assumed that keeps what belongs together on "
            "one; --router replays some.",
      "Settings are those on the front of tokens computed again, bytes and requests at once, for each number of ranks. "
      "A block's size changes what is found again and which states are copied; how fast kernels run with it no clock "
      "says.",
      "A deployment holds where so many of the requests keep the limits and the queue does not grow."};
  for (const EngineGpuChoice& engine : engines)
    if (engine.answer) items.push_back(clock_label(engine.answer->timed.served) + ".");
  return items;
}

ordered_json gpu_choice_json(const EngineGpuChoice& engine) {
  const GpuChoice& answer = *engine.answer;
  ordered_json json{{"schema", gpu_choice_schema_id},
                    {"model", answer.searches.front().answer.model},
                    {"release", engine.release},
                    {"workload", answer.searches.front().answer.workload},
                    {"gpu", answer.timed.served.gpu},
                    {"gpus", answer.gpus},
                    {"good_share", answer.good_share},
                    {"clock", clock_label(answer.timed.served)},
                    {"tried", to_json(tried_table(rows_of({&engine, 1}), false))},
                    {"pick", answer.pick ? ordered_json(*answer.pick) : ordered_json()}};
  if (answer.pick) {
    json["good_share_if_slower"] = answer.share_if_slower;
    json["most_rate"] = answer.most_rate.value_or(answer.tried[*answer.pick].rate);
  }
  ordered_json refused = ordered_json::array();
  for (const RefusedRanks& one : answer.refused) refused.push_back({{"ranks", one.ranks}, {"why", one.why}});
  json["refused"] = std::move(refused);
  json["commands"] = answer.commands;
  return json;
}

}  // namespace

Document gpu_choice_report(EngineGpuChoices engines) {
  Document document;
  const std::vector<GpuChoiceRow> all = rows_of(engines);
  const std::vector<GpuChoiceRow> rows = engines.size() > 1 ? rows_side_by_side(all) : all;
  const GpuChoice& first = rows.front().answer();
  document.blocks.emplace_back(
      Heading{fmt::format("{} for {}", first.timed.served.gpu, first.searches.front().answer.model), 1});
  const std::optional<std::size_t> taken = choice_to_take(engines);
  std::optional<GpuChoiceRow> pick;
  if (taken) pick = GpuChoiceRow{&engines[*taken], *engines[*taken].answer->pick};
  document.blocks.emplace_back(Paragraph{pick ? verdict_of_pick(*pick) : verdict_of_none(rows)});
  if (pick) document.blocks.emplace_back(Paragraph{caution(*pick)});
  Table table = tried_table(rows, engines.size() > 1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (pick && rows[i].engine == pick->engine && rows[i].at == pick->at) table.mark_row(i);
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(
      Paragraph{fmt::format("Workload: {}.", first.searches.front().answer.workload)});
  if (Listing refused = refusals(engines); !refused.items.empty()) document.blocks.emplace_back(std::move(refused));
  add_listing(document, "What is assumed", assumptions(engines, is_routed(all)));
  if (pick) {
    document.blocks.emplace_back(Heading{fmt::format("The same numbers again, of {}",
                                                     pick->tried().router ? "all replicas" : "one replica")});
    document.blocks.emplace_back(Code{pick->answer().commands});
  }
  return document;
}

std::string render_gpu_choice(const EngineGpuChoice& engine, Format format, const Style& style) {
  const EngineGpuChoices alone{&engine, 1};
  if (format == Format::json) return json_text(gpu_choice_json(engine));
  if (format == Format::csv) return render_csv(tried_table(rows_of(alone), false));
  return render_people(gpu_choice_report(alone), format, style);
}

}  // namespace hybridkv
