#include "report/replay/simulate_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/replay/index_report.h"
#include "report/replay/loss_report.h"
#include "report/replay/replay_text.h"
#include "report/replay/times_report.h"
#include "report/replay/upper_bounds.h"

namespace hybridkv {

namespace {

/// Each sentence once, with the caches that it is about.
Listing warnings(const SimulateAnswer& answer, const std::vector<std::vector<std::string>>& sentences) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names_of;
  for (std::size_t i = 0; i < answer.caches.size(); ++i)
    for (const std::string& sentence : sentences[i]) {
      auto known = std::find_if(names_of.begin(), names_of.end(), [&](const auto& of) { return of.first == sentence; });
      if (known == names_of.end()) known = names_of.insert(names_of.end(), {sentence, {}});
      known->second.push_back(answer.caches[i].name);
    }
  Listing listing{.warning = true};
  for (const auto& [sentence, names] : names_of) {
    const bool of_all = names.size() > 1 && names.size() == answer.caches.size();
    listing.items.push_back(fmt::format("{}: {}", of_all ? "all caches" : fmt::format("{}", fmt::join(names, "; ")),
                                        sentence));
  }
  return listing;
}

std::vector<LossStats> losses_of(const SimulateAnswer& answer) {
  std::vector<LossStats> losses;
  for (const ReplayedCache& cache : answer.caches)
    if (cache.losses) losses.push_back(*cache.losses);
  return losses;
}

void add_losses(Document& document, const SimulateAnswer& answer) {
  std::vector<std::string> names;
  for (const ReplayedCache& cache : answer.caches) names.push_back(cache.name);
  add_losses(document, names, losses_of(answer), answer.requests > most_listed_requests);
}

}  // namespace

std::vector<std::string> unserved_warnings(const ReplayedCache& cache, const std::string& too_small) {
  const ReplayCounts& counts = cache.counts();
  std::vector<std::string> sentences;
  if (counts.too_long > 0)
    sentences.push_back(too_long_text(counts.too_long, counts.requests, *cache.max_model_len) +
                        (counts.too_long == counts.requests ? "." : "; the rates are of the others."));
  if (counts.unserved() > 0) sentences.push_back(unserved_text(counts.unserved(), too_small));
  return sentences;
}

const IndexReporter& reporter_of(const SimulateAnswer& answer) {
  static const IndexReporter* const reporters[] = {&blocks_reporter, &tree_reporter, &slots_reporter,
                                                   &snapshots_reporter};
  static_assert(std::size(reporters) == std::variant_size_v<IndexStats>);
  return *reporters[answer.caches.front().index.index()];
}

Document simulate_report(const SimulateAnswer& answer) {
  IndexReport index = reporter_of(answer).report(answer);
  Document document;
  document.blocks.emplace_back(Heading{"Replay of " + answer.trace, 1});
  Facts facts{{{"rules", index.rules},
               {"trace", fmt::format("{}, {} prompt tokens", human_plural(answer.requests, "request"),
                                     human_count(answer.prompt_tokens))}}};
  facts.entries.insert(facts.entries.end(), index.facts.begin(), index.facts.end());
  if (answer.timed && !std::holds_alternative<SimulationStats>(answer.caches.front().index))
    facts.entries.emplace_back("times", answer.driver.kind == DriverKind::open_loop
                                            ? "requests come by timestamps, with what was found of each so"
                                            : fmt::format("closed loop, {}, with what was found of each so",
                                                          in_flight_text(answer.driver)));
  if (answer.bad_lines > 0) facts.entries.emplace_back("skipped", human_plural(answer.bad_lines, "damaged line"));
  document.blocks.emplace_back(std::move(facts));
  if (answer.timed) add_times(document, answer);
  document.blocks.emplace_back(Heading{"What is found again"});
  document.blocks.emplace_back(std::move(index.hits));
  if (Listing warned = warnings(answer, index.warnings); !warned.items.empty())
    document.blocks.emplace_back(std::move(warned));
  if (!index.requests.rows().empty()) {
    document.blocks.emplace_back(Heading{"Request by request"});
    document.blocks.emplace_back(std::move(index.requests));
  }
  add_losses(document, answer);
  for (Block& block : index.held) document.blocks.push_back(std::move(block));
  if (answer.caches.front().token_exact_hit_tokens) {
    document.blocks.emplace_back(Heading{"Upper bounds"});
    document.blocks.emplace_back(upper_bounds_table(answer));
    document.blocks.emplace_back(Paragraph{token_exact_text});
    if (has_bounds(answer)) document.blocks.emplace_back(Paragraph{bound_text});
  }
  if (!index.footer.empty()) document.blocks.emplace_back(Paragraph{index.footer});
  return document;
}

Table simulate_table(const SimulateAnswer& answer) { return reporter_of(answer).table(answer); }

std::string render_simulate(const SimulateAnswer& answer, Format format, const Style& style) {
  if (format == Format::csv)
    return render_csv(with_times(with_losses(simulate_table(answer), losses_of(answer)), answer));
  if (format != Format::json) return render_people(simulate_report(answer), format, style);
  const IndexReporter& index = reporter_of(answer);
  nlohmann::ordered_json json;
  json["schema"] = simulate_schema_id;
  if (answer.rules) json["release"] = answer.rules->name;
  json["trace"] = answer.trace;
  json["driver"] = to_string(answer.driver.kind);
  json["requests"] = answer.requests;
  json["prompt_tokens"] = answer.prompt_tokens;
  json["bad_lines"] = answer.bad_lines;
  json["caches"] = to_json(simulate_table(answer));
  for (std::size_t i = 0; i < answer.caches.size(); ++i) {
    const ReplayedCache& cache = answer.caches[i];
    json["caches"][i].update(index.extras(cache));
    if (answer.timed) json["caches"][i]["times"] = times_json(answer, cache);
    if (cache.losses) json["caches"][i]["losses"] = losses_json(*cache.losses);
    if (!cache.requests.empty()) json["caches"][i]["per_request"] = index.requests(cache);
  }
  return json_text(json);
}

}  // namespace hybridkv
