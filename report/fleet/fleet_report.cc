#include "report/fleet/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/clock/kept_limits.h"
#include "ask/clock/service_figures.h"
#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

/// A router before the replicas of one cache.
struct FleetRow {
  const FleetCache* cache;
  const RoutedFleet* routed;
  const FleetAnswer* answer;

  const FleetResult& result() const { return routed->result; }
  const RoutingCounts& routing() const { return result().routing; }
  bool believes() const { return routing().believes; }
  /// Share of the prompts, 0 .. 1.
  double rate(std::int64_t tokens) const { return result().counts.rate(tokens); }
  double repeated() const {
    return result().blocks && result().blocks->findable > 0
               ? static_cast<double>(result().blocks->repeated) / static_cast<double>(result().blocks->findable)
               : 0;
  }
  const ServedTimes& times() const { return *result().times; }
};

std::vector<FleetRow> rows_of(const FleetAnswer& answer) {
  std::vector<FleetRow> rows;
  for (const FleetCache& cache : answer.caches)
    for (const RoutedFleet& routed : cache.routers) rows.push_back({&cache, &routed, &answer});
  return rows;
}

Table fleet_table(const std::vector<FleetRow>& rows) {
  using Row = FleetRow;
  const bool timed = rows.front().result().times.has_value(), has_blocks = rows.front().result().blocks.has_value();
  const bool limited = timed && rows.front().answer->timed->limits.any();
  const bool overloaded =
      timed && std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.times().overloaded(); });
  const bool several = rows.front().answer->caches.size() > 1;
  const bool believes = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.believes(); });
  const bool hands_over = rows.front().answer->decode.replicas > 0;
  const auto right = [](const char* title, const char* below) { return for_people(title, below, Align::right); };
  const auto believed = [](auto getter) { return where(&Row::believes, getter); };
  const auto seconds = [](ServedDurations of, double share) {
    return [=](const Row& row) {
      const DurationHistogram& all = row.times().*of;
      return share == 0 ? all.mean() : all.quantile(share);
    };
  };
  const auto shown = [=](ServedDurations of, double share) {
    return [get = seconds(of, share)](const Row& row) { return human_seconds(get(row)); };
  };
  const auto exact = [=](ServedDurations of, double share) {
    return [get = seconds(of, share)](const Row& row) { return Real{get(row), 6}; };
  };
  return table_of<Row>(
      {{{"cache", "cache"}, via(&Row::cache, &FleetCache::name), several},
       {for_programs("cache"), via(&Row::cache, &FleetCache::name), !several},
       {{"router", "router"}, [](const Row& row) { return std::string(to_string(row.routed->router.kind)); }},
       {for_programs("replicas"), [](const Row& row) { return row.answer->replicas; }},
       {for_programs("handed_over_requests"), [](const Row& row) { return row.result().handed_over->requests; },
        hands_over},
       {for_programs("handed_over_rank_bytes"), [](const Row& row) { return Real{row.result().handed_over->bytes, 0}; },
        hands_over},
       {for_programs("place_seconds"), [](const Row& row) { return Real{row.result().handed_over->place_seconds, 6}; },
        hands_over},
       {for_programs("resent_requests"), [](const Row& row) { return row.result().resent; }},
       {for_programs("requests"), [](const Row& row) { return row.result().counts.requests; }},
       {for_programs("prompt_tokens"), [](const Row& row) { return row.result().counts.taken_prompt_tokens; }},
       {for_programs("found_tokens"), [](const Row& row) { return row.result().counts.hit_tokens; }},
       {right("found", ""), [](const Row& row) { return Percent{100 * row.routed->found_rate(), 1}; }},
       {for_programs("found_rate"), [](const Row& row) { return Real{row.routed->found_rate(), 6}; }},
       {right("believed", "found"),
        believed([](const Row& row) { return Percent{100 * row.rate(row.routing().believed_tokens), 1}; }), believes},
       {right("of it", "not"),
        believed([](const Row& row) { return Percent{100 * row.rate(row.routing().overstated_tokens), 1}; }), believes},
       {for_programs("believed_tokens"), believed([](const Row& row) { return row.routing().believed_tokens; })},
       {for_programs("overstated_tokens"), believed([](const Row& row) { return row.routing().overstated_tokens; })},
       {for_programs("unseen_tokens"), believed([](const Row& row) { return row.routing().unseen_tokens; })},
       {right("computed", "most/mean"), [](const Row& row) { return Real{row.result().imbalance(), 2}; }},
       {for_programs("imbalance"), [](const Row& row) { return Real{row.result().imbalance(), 6}; }},
       {for_programs("running_imbalance"), [](const Row& row) { return Real{row.result().running_imbalance(), 6}; },
        timed},
       {right("blocks held", "twice"), [](const Row& row) { return Percent{100 * row.repeated(), 1}; }, has_blocks},
       {for_programs("findable_blocks"), [](const Row& row) { return row.result().blocks->findable; }, has_blocks},
       {for_programs("repeated_blocks"), [](const Row& row) { return row.result().blocks->repeated; }, has_blocks},
       {right("first token", "mean"), shown(&ServedTimes::first_token, 0), timed},
       {right("", "p90"), shown(&ServedTimes::first_token, 0.9), timed},
       {right("further", "token"), shown(&ServedTimes::output_token, 0), timed},
       {right("queueing", "mean"), shown(&ServedTimes::queueing, 0), timed},
       {right("within", "limits"), [](const Row& row) { return Percent{100 * good_share(row.times()), 1}; }, limited},
       {for_people("over-", "loaded", Align::left),
        [](const Row& row) { return std::string(row.times().overloaded() ? "yes" : "no"); }, overloaded},
       {for_programs("first_token_mean_seconds"), exact(&ServedTimes::first_token, 0), timed},
       {for_programs("first_token_p90_seconds"), exact(&ServedTimes::first_token, 0.9), timed},
       {for_programs("first_token_p99_seconds"), exact(&ServedTimes::first_token, 0.99), timed},
       {for_programs("output_token_mean_seconds"), exact(&ServedTimes::output_token, 0), timed},
       {for_programs("queueing_mean_seconds"), exact(&ServedTimes::queueing, 0), timed},
       {for_programs("output_tokens_per_second"),
        [](const Row& row) { return Real{per_second(row.times(), row.times().generated_tokens()), 3}; }, timed},
       {for_programs("good_share"), [](const Row& row) { return Real{good_share(row.times()), 6}; }, limited},
       {for_programs("overloaded"), [](const Row& row) { return row.times().overloaded(); }, timed}},
      rows);
}

/// What each step up would find, of one cache: the first router, the best one, one store, any policy.
std::string gaps_text(const FleetCache& cache, const FleetAnswer& answer) {
  const RoutedFleet &first = cache.routers.front(), &best = cache.best();
  std::string text = fmt::format("{} replicas of {}: {} finds {} of the prompt tokens", answer.replicas, cache.name,
                                 to_string(first.router.kind), human_share(first.found_rate()));
  if (&best != &first)
    text += fmt::format(", {} {}", to_string(best.router.kind), human_share(best.found_rate()));
  text += fmt::format("; one store of their memory would find {}", human_share(cache.one_store.hit_rate()));
  if (cache.bound)
    text += fmt::format(", any policy at most {}", human_share(cache.bound->rate(cache.bound->upper_tokens)));
  return text + ".";
}

/// What the replicas that generate were handed over.
std::string handed_over_text(const FleetAnswer& answer) {
  if (answer.decode.replicas == 0) return {};
  const RoutedFleet& first = answer.caches.front().routers.front();
  const HandedOver& all = *first.result.handed_over;
  const std::string text = fmt::format("{} compute prompts, {} more generate", human_plural(answer.replicas, "replica"),
                                       answer.decode.replicas);
  if (all.requests == 0) return text + "; no request had more than one token to generate.";
  const auto requests = static_cast<double>(all.requests);
  return text + fmt::format("; {} requests were handed over (of {}): {} of each rank on average, {} on the way at {} "
                            "GB/s a GPU, then {} until a step took them in. Modelled: each request has the link "
                            "for itself, and those that generate look for no prefixes.",
                            human_count(all.requests), to_string(first.router.kind),
                            human_bytes(static_cast<std::int64_t>(all.bytes / requests)),
                            human_seconds(all.bytes / requests / answer.decode.link_bytes_per_second),
                            human_real(answer.decode.link_bytes_per_second / 1e9, 1),
                            human_seconds(all.place_seconds / requests));
}

std::string resent_text(const std::vector<FleetRow>& rows) {
  for (const FleetRow& row : rows)
    if (row.result().resent > 0)
      return fmt::format("{} requests were in flight at a replica that failed (of {}) and were sent again.",
                         row.result().resent, to_string(row.routed->router.kind));
  return {};
}

/// Routers whose account of what is found is far off, and why.
Listing misbeliefs(const std::vector<FleetRow>& rows) {
  constexpr double noticed = 0.01;
  Listing listing{.items = {}, .warning = true};
  for (const FleetRow& row : rows) {
    const std::string_view router = to_string(row.routed->router.kind);
    if (row.routing().drops_events)
      listing.items.push_back(
          fmt::format("{} takes events to be of blocks of {} tokens, these are of others: it drops them all and knows "
                      "of no match; leave --router-block out.", router, *row.routed->router.block_tokens));
    else if (row.rate(row.routing().overstated_tokens) >= noticed)
      listing.items.push_back(fmt::format("{} took {} to be found of which {} were not: {}.", router,
                                          human_share(row.rate(row.routing().believed_tokens)),
                                          human_share(row.rate(row.routing().overstated_tokens)),
                                          hears_events(row.routed->router.kind)
                                              ? "attention was there, the states behind it were not"
                                              : "it counts what it sent, not what was kept"));
    if (!row.routing().drops_events && row.rate(row.routing().unseen_tokens) >= noticed)
      listing.items.push_back(fmt::format("{} did not see {} that was found.", router,
                                          human_share(row.rate(row.routing().unseen_tokens))));
  }
  return listing;
}

std::string how_it_was_run(const FleetAnswer& answer) {
  std::string text = "Shares of the prompt tokens. Believed: what the router took to be found where it sent each "
                     "request. Computed: most over mean of the replicas' prompt tokens that were not found. One store: "
                     "a single replica with the memory of all, one request after the other. ";
  text += routers_are_modelled;
  if (answer.driver.kind == DriverKind::one_at_a_time)
    text += " Requests come one at a time, so that no replica is ever busy; --gpu runs them by the clock.";
  return text;
}

}  // namespace

std::string render_fleet(const FleetAnswer& answer, Format format, const Style& style) {
  const std::vector<FleetRow> rows = rows_of(answer);
  const Table table = fleet_table(rows);
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) {
    nlohmann::ordered_json json{{"trace", answer.trace}, {"replicas", answer.replicas}};
    if (answer.decode.replicas > 0) {
      json["decode_replicas"] = answer.decode.replicas;
      json["link_bytes_per_second"] = answer.decode.link_bytes_per_second;
    }
    json["routers"] = to_json(table);
    for (const FleetCache& cache : answer.caches) {
      nlohmann::ordered_json one{{"name", cache.name},
                                 {"one_store_found_tokens", cache.one_store.hit_tokens},
                                 {"one_store_found_rate", cache.one_store.hit_rate()}};
      if (cache.bound) {
        one["upper_tokens"] = cache.bound->upper_tokens;
        one["upper_rate"] = cache.bound->rate(cache.bound->upper_tokens);
      }
      json["caches"].push_back(one);
    }
    if (answer.timed) json["clock"] = clock_label(answer.timed->served);
    return json_text(json);
  }
  Document document;
  document.blocks.emplace_back(Heading{"Fleet under " + answer.trace, 1});
  for (const FleetCache& cache : answer.caches) document.blocks.emplace_back(Paragraph{gaps_text(cache, answer)});
  document.blocks.emplace_back(table);
  if (Listing off = misbeliefs(rows); !off.items.empty()) document.blocks.emplace_back(std::move(off));
  for (const std::string& text : {resent_text(rows), handed_over_text(answer)})
    if (!text.empty()) document.blocks.emplace_back(Paragraph{text});
  document.blocks.emplace_back(Paragraph{how_it_was_run(answer)});
  if (answer.timed) document.blocks.emplace_back(Paragraph{clock_label(answer.timed->served) + "."});
  return render_people(document, format, style);
}

}  // namespace hybridkv
