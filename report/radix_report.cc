#include "report/radix_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/engine_rules.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/loss_report.h"
#include "report/replay_text.h"
#include "report/simulate_report.h"
#include "report/upper_bounds.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

Table hits_table(const RadixAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"token_slots", "token", "slots"},
               {"state_slots", "state", "slots"},
               {"page_tokens", "page", "tokens"},
               {"hit_tokens", "hit", "tokens"},
               {"hit_rate", "hit", "rate"},
               {"requests_with_hit", "requests", "with a hit"},
               {"kv_match_rate", "by KV", "alone"}});
  for (const RadixStats& stats : answer.stats)
    table.add_row({stats.name, stats.settings.token_slots, stats.settings.state_slots, stats.settings.page,
                   stats.hit_tokens, Percent{100 * stats.hit_rate()}, stats.requests_with_hit,
                   Percent{100 * stats.kv_match_rate()}});
  return table;
}

Table tree_table(const RadixAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"most_tree_tokens", "tree's tokens", "at most"},
               {"most_tree_states", "its states", "at most"},
               {"states_made", "states", "made"},
               {"states_used", "", "used"},
               {"evicted_states", "", "evicted"},
               {"evicted_unused_states", "", "unused"},
               {"evicted_tokens", "tokens", "evicted"},
               {"requests_with_branch", "states at", "branches"},
               {"refused", "refused", "or stalled"},
               {"too_long", "refused as", "too long"}});
  for (const RadixStats& stats : answer.stats)
    table.add_row({stats.name, stats.most_tree_tokens, stats.most_tree_states, stats.states_made, stats.states_used,
                   stats.evicted_states, stats.evicted_unused_states, stats.evicted_tokens,
                   stats.requests_with_branch, stats.refused + stats.stalled, stats.too_long});
  return table;
}

Table requests_table(const RadixAnswer& answer) {
  Table table({{"name", "cache", "", Align::left},
               {"idx", "request"},
               {"input_length", "prompt", "tokens"},
               {"hit_tokens", "hit", "tokens"},
               {"kv_match_tokens", "by KV", "alone"},
               {"branch_tokens", "branch", "at"},
               {"chunk_sizes", "chunks", "tokens", Align::left},
               {"tree_tokens", "tree's", "tokens"},
               {"tree_states", "tree's", "states"},
               {"status", "ended", "", Align::left}});
  for (std::size_t i = 0; i < answer.listed.size(); ++i)
    for (const RadixRecord& record : answer.listed[i])
      table.add_row({answer.stats[i].name, record.index, record.input_length, record.hit_tokens,
                     record.kv_match_tokens, record.branch_tokens, fmt::format("{}", fmt::join(record.chunks, "+")),
                     record.tree_tokens, record.tree_states, std::string(to_string(record.status))});
  return table;
}

/// What a reader of the rates should know first.
Listing warnings(const RadixAnswer& answer) {
  Listing listing{.warning = true};
  for (const RadixStats& stats : answer.stats) {
    if (stats.too_long > 0)
      listing.items.push_back(fmt::format("{}: {}; the rates are of the others.", stats.name,
                                          too_long_text(stats.too_long, stats.requests, *stats.max_model_len)));
    if (const std::int64_t large = stats.refused + stats.stalled; large > 0)
      listing.items.push_back(
          stats.name + ": " +
          unserved_text(large, fmt::format("the pools of {} tokens and {} states even alone",
                                           human_count(stats.settings.token_slots),
                                           human_count(stats.settings.state_slots))));
  }
  return listing;
}

/// Which rules in play no record of the engine covers.
std::string modelled_text(const RadixAnswer& answer) {
  std::vector<std::string> rules;
  const auto add = [&](bool in_play, const char* rule) {
    if (in_play && std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.emplace_back(rule);
  };
  for (const RadixStats& stats : answer.stats) {
    const RadixSettings& s = stats.settings;
    add(stats.refused + stats.stalled > 0, "requests that do not fit");
    add(answer.decodes && s.page > 1, "evictions in a decode with larger pages");
    add(answer.decodes && s.strategy == RadixStrategy::extra_buffer_lazy,
        "requests that end while a lazy strategy writes a state");
    add(answer.decodes && s.skip_decode_lock, "states that are not locked during decode");
  }
  return modelled_names_sentence(rules);
}

/// Whose tree it is, and what the pools of the first cache follow.
Facts facts_of(const RadixAnswer& answer) {
  const RadixSettings& first = answer.stats.front().settings;
  Facts facts{{{"rules", std::string(rules_of_sglang_0_5_23.title)},
               {"trace", fmt::format("{}, {} prompt tokens", human_plural(answer.requests, "request"),
                                     human_count(answer.prompt_tokens))},
               {"driver", answer.decodes ? "one request at a time in the order of the trace, prefill and decode"
                                         : "one request at a time in the order of the trace, prefill only"}}};
  std::string states = std::string(to_string(first.strategy));
  if (first.has_tracking())
    states += fmt::format(": a state at most every {} tokens of a prefill{}", human_count(first.checkpoint_grid()),
                          answer.decodes ? fmt::format(", every {} of a decode", human_count(first.decode_grid()))
                                         : std::string());
  facts.entries.emplace_back("states", states);
  facts.entries.emplace_back("chunks", fmt::format("of at most {} tokens", human_count(first.chunk_tokens)));
  if (answer.bad_lines > 0) facts.entries.emplace_back("skipped", human_plural(answer.bad_lines, "damaged line"));
  return facts;
}

}  // namespace

Document radix_report(const RadixAnswer& answer) {
  Document document;
  document.blocks.emplace_back(Heading{"Replay of " + answer.trace, 1});
  document.blocks.emplace_back(facts_of(answer));
  document.blocks.emplace_back(Heading{"What is found again"});
  document.blocks.emplace_back(hits_table(answer));
  if (Listing warned = warnings(answer); !warned.items.empty()) document.blocks.emplace_back(std::move(warned));
  if (!answer.listed.empty()) {
    document.blocks.emplace_back(Heading{"Request by request"});
    document.blocks.emplace_back(requests_table(answer));
  }
  std::vector<std::string> names;
  for (const RadixStats& stats : answer.stats) names.push_back(stats.name);
  add_losses(document, names, answer.losses, answer.requests > most_listed_requests);
  document.blocks.emplace_back(Heading{"What the tree holds"});
  document.blocks.emplace_back(tree_table(answer));
  if (!answer.token_exact_hit_tokens.empty()) {
    document.blocks.emplace_back(Heading{"Upper bounds"});
    document.blocks.emplace_back(upper_bounds_table(answer));
    document.blocks.emplace_back(Paragraph{token_exact_text});
    if (!answer.bounds.empty()) document.blocks.emplace_back(Paragraph{bound_text});
  }
  document.blocks.emplace_back(Paragraph{modelled_text(answer)});
  return document;
}

Table radix_table(const RadixAnswer& answer) {
  Table table({{"name", "cache"}, {"strategy", "strategy"}, {"token_slots", "token slots"},
               {"state_slots", "state slots"}, {"page_tokens", "page"}, {"chunk_tokens", "chunk"},
               {"checkpoint_grid_tokens", "grid of states"}, {"decode_grid_tokens", "grid of states in decode"},
               {"requests", "requests"}, {"prompt_tokens", "prompt tokens"}, {"hit_tokens", "hit tokens"},
               {"hit_rate", "hit rate"}, {"requests_with_hit", "requests with a hit"},
               {"kv_match_tokens", "tokens matched by KV alone"}, {"requests_with_branch", "requests with a branch"},
               {"prefill_chunks", "prefill chunks"}, {"generated_tokens", "generated tokens"},
               {"states_made", "states made"}, {"states_used", "states used"},
               {"states_trimmed", "states dropped by the limit of a path"}, {"evicted_tokens", "evicted tokens"},
               {"evicted_states", "evicted states"}, {"evicted_unused_states", "states evicted unused"},
               {"most_tree_tokens", "most tokens of the tree"},
               {"most_tree_states", "most states of the tree"}, {"free_tokens", "free tokens at the end"},
               {"free_states", "free states at the end"}, {"too_long", "refused as too long"},
               {"refused", "refused"}, {"stalled", "stalled"},
               {"token_exact_hit_tokens", "token by token"}, {"feasible_tokens", "possible tokens"},
               {"upper_tokens", "tokens that no policy passes"}, {"taken_prompt_tokens", "whole of all shares"}});
  for (std::size_t i = 0; i < answer.stats.size(); ++i) {
    const RadixStats& stats = answer.stats[i];
    const RadixSettings& s = stats.settings;
    table.add_row({stats.name, std::string(to_string(s.strategy)), s.token_slots, s.state_slots, s.page,
                   s.chunk_tokens, s.checkpoint_grid(), s.decode_grid(), stats.requests, stats.prompt_tokens,
                   stats.hit_tokens, Real{stats.hit_rate(), 6}, stats.requests_with_hit, stats.kv_match_tokens,
                   stats.requests_with_branch, stats.prefill_chunks, stats.generated_tokens, stats.states_made,
                   stats.states_used, stats.states_trimmed, stats.evicted_tokens, stats.evicted_states,
                   stats.evicted_unused_states, stats.most_tree_tokens, stats.most_tree_states,
                   stats.free_tokens, stats.free_states, stats.too_long, stats.refused, stats.stalled,
                   answer.token_exact_hit_tokens.empty() ? Cell(std::monostate{})
                                                         : Cell(answer.token_exact_hit_tokens[i]),
                   feasible_cell(answer.bounds, i), upper_cell(answer.bounds, i), stats.taken_prompt_tokens});
  }
  return table;
}

std::string render_radix(const RadixAnswer& answer, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(radix_report(answer), style);
    case Format::markdown: return render_markdown(radix_report(answer));
    case Format::csv: return render_csv(with_losses(radix_table(answer), answer.losses));
    case Format::json: break;
  }
  ordered_json json;
  json["schema"] = simulate_schema_id;
  json["release"] = rules_of_sglang_0_5_23.name;
  json["trace"] = answer.trace;
  json["driver"] = to_string(answer.decodes ? DriverKind::closed_loop : DriverKind::one_at_a_time);
  json["requests"] = answer.requests;
  json["prompt_tokens"] = answer.prompt_tokens;
  json["bad_lines"] = answer.bad_lines;
  json["caches"] = to_json(radix_table(answer));
  for (std::size_t i = 0; i < answer.losses.size(); ++i) json["caches"][i]["losses"] = losses_json(answer.losses[i]);
  for (std::size_t i = 0; i < answer.listed.size(); ++i) {
    RadixAnswer one;
    one.stats = {answer.stats[i]};
    one.listed = {answer.listed[i]};
    json["caches"][i]["per_request"] = to_json(requests_table(one));
  }
  return json_text(json);
}

}  // namespace hybridkv
