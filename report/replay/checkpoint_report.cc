#include "report/replay/checkpoint_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

using CheckpointSetting = CheckpointAnswer::Setting;

Percent share_of(double part, std::int64_t whole) {
  return Percent{whole == 0 ? 0 : 100 * part / static_cast<double>(whole)};
}

Table places_table(const CheckpointAnswer& advice) {
  using Row = CheckpointAnswer::Places;
  const auto tokens = [](const Row& row) {
    std::string text;
    for (const std::int64_t at : row.tokens) text += (text.empty() ? "" : "; ") + human_count(at);
    return text;
  };
  return table_of<Row>({{{"states", "states", "a prompt"}, &Row::states},
                        {{"tokens", "best kept at", "tokens"}, tokens},
                        {{"recomputed", "computed again", "of what is shared"},
                         [&](const Row& row) { return share_of(row.recomputed_tokens, advice.shared_tokens); }}},
                       advice.places);
}

Table back_table(const CheckpointAnswer& advice) {
  const auto back = [](std::size_t at) { return static_cast<std::int64_t>(at); };
  const auto found = [&](std::size_t at) {
    return share_of(static_cast<double>(advice.found_back[at]), advice.shared_tokens);
  };
  return table_of_positions({{{"back", "last state", "moved back"}, back},
                             {{"found", "found of what is", "shared, endless memory"}, found}},
                            advice.found_back.size());
}

std::string interval_text(const std::optional<std::int64_t>& interval) {
  if (!interval) return "all";
  return *interval == 0 ? "last" : human_count(*interval);
}

Table settings_table(const CheckpointAnswer& advice) {
  using Row = CheckpointSetting;
  const auto replayed = [](auto getter) { return where([](const Row& row) { return row.refused.empty(); }, getter); };
  const auto rate = [&](const Row& row) {
    const auto whole = static_cast<double>(advice.prompt_tokens);
    return Real{whole > 0 ? static_cast<double>(row.found_tokens) / whole : 0, 4};
  };
  return table_of<Row>(
      {{{"retention", "states kept", "every", Align::right}, via(&Row::retention_tokens, interval_text)},
       {{"checkpoint_back", "last state", "moved back"}, &Row::back},
       {{"states_made", "states", "made"}, replayed(&Row::states_made)},
       {{"found_tokens", "found", "tokens"}, replayed(&Row::found_tokens)},
       {{"found_rate", "found"}, replayed(rate)},
       {for_programs("refused"), where([](const Row& row) { return !row.refused.empty(); }, &Row::refused)}},
      advice.settings);
}

/// The setting that finds most; of equal ones the first.
const CheckpointSetting* best_of(const CheckpointAnswer& advice) {
  const CheckpointSetting* best = nullptr;
  for (const CheckpointSetting& one : advice.settings)
    if (one.refused.empty() && (best == nullptr || one.found_tokens > best->found_tokens)) best = &one;
  return best;
}

std::string best_text(const CheckpointAnswer& advice, const CheckpointSetting& best) {
  std::string keeps = !best.retention_tokens          ? "every state that a chunk ends with"
                      : *best.retention_tokens == 0 ? "only last states and those where prompts part"
                                                    : fmt::format("states every {} tokens, the last ones, and those "
                                                                  "where prompts part",
                                                                  human_count(*best.retention_tokens));
  if (best.back > 0)
    keeps += fmt::format(", the last {} before its boundary", human_plural(best.back, "checkpoint"));
  return fmt::format("Most is found by keeping {}: {} of the prompt tokens.", keeps,
                     human_percent(share_of(static_cast<double>(best.found_tokens), advice.prompt_tokens).value));
}

Listing remarks(const CheckpointAnswer& advice) {
  Listing listing{.warning = true};
  std::vector<std::int64_t> said;
  for (const CheckpointSetting& one : advice.settings) {
    if (!one.refused.empty()) {
      listing.items.push_back(fmt::format("{}, {} back: {}.", interval_text(one.retention_tokens), one.back,
                                          one.refused));
      continue;
    }
    if (!one.retention_tokens || advice.has_effect(*one.retention_tokens) ||
        std::find(said.begin(), said.end(), *one.retention_tokens) != said.end())
      continue;
    said.push_back(*one.retention_tokens);
    listing.items.push_back(fmt::format("{} is no multiple of {} tokens, at which states are made: next to nothing is "
                                        "found at it, beside what 'last' finds.",
                                        human_count(*one.retention_tokens), human_count(advice.unit_tokens)));
  }
  return listing;
}

Document checkpoints_document(const CheckpointAnswer& advice) {
  Document document;
  document.blocks.emplace_back(Heading{"Where to keep states: " + advice.trace, 1});
  if (const CheckpointSetting* best = best_of(advice))
    document.blocks.emplace_back(Paragraph{best_text(advice, *best)});
  document.blocks.emplace_back(
      Facts{{{"layout", fmt::format("{}, states at multiples of {} tokens", advice.name,
                                    human_count(advice.unit_tokens))},
             {"requests", fmt::format("{}, of which {} begin like an earlier one",
                                      human_count(advice.requests), human_count(advice.sharing_requests))},
             {"shared", fmt::format("{} of {} prompt tokens", human_count(advice.shared_tokens),
                                    human_count(advice.prompt_tokens))}}});
  document.blocks.emplace_back(Heading{"At the same places in every prompt"});
  document.blocks.emplace_back(places_table(advice));
  document.blocks.emplace_back(Heading{"At the end of every prompt"});
  document.blocks.emplace_back(back_table(advice));
  document.blocks.emplace_back(Heading{"What the engine takes, replayed in this memory"});
  document.blocks.emplace_back(settings_table(advice));
  if (Listing said = remarks(advice); !said.items.empty()) document.blocks.emplace_back(std::move(said));
  return document;
}

}  // namespace

std::string render_checkpoints(const CheckpointAnswer& advice, Format format, const Style& style) {
  if (format == Format::csv) return render_csv(settings_table(advice));
  if (format != Format::json) return render_people(checkpoints_document(advice), format, style);
  nlohmann::ordered_json json{{"schema", checkpoints_schema_id},
                              {"trace", advice.trace},
                              {"layout", advice.name},
                              {"unit_tokens", advice.unit_tokens},
                              {"requests", advice.requests},
                              {"prompt_tokens", advice.prompt_tokens},
                              {"sharing_requests", advice.sharing_requests},
                              {"shared_tokens", advice.shared_tokens}};
  json["places"] = nlohmann::ordered_json::array();
  for (const CheckpointAnswer::Places& places : advice.places)
    json["places"].push_back({{"states", places.states},
                              {"tokens", places.tokens},
                              {"recomputed_tokens", places.recomputed_tokens}});
  json["found_back"] = advice.found_back;
  json["settings"] = to_json(settings_table(advice));
  return json_text(json);
}

}  // namespace hybridkv
