#include "report/recommend/recommend_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/plan/rules_text.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_shown_rows = 24;

double percent_change(double from, double to) { return from == 0 ? 0 : 100 * (to - from) / from; }

/// "(-24.3 %)", "(+1.2 %)"; nothing where the numbers are equal.
std::string change_text(double from, double to) {
  if (from == to || from == 0) return "";
  const double percent = percent_change(from, to);
  return fmt::format(" ({}{})", percent > 0 ? "+" : "", human_percent(percent, 1));
}

std::string assumption_text(const WhatIf& what_if) {
  const auto whole = static_cast<std::int64_t>(what_if.value);
  switch (what_if.assumption) {
    case Assumption::memory: return fmt::format("With {} of memory", human_bytes(whole));
    case Assumption::length: return fmt::format("For requests of {} tokens", human_count(whole));
    case Assumption::concurrency:
      return fmt::format("If more than {} requests must fit at once", human_real(what_if.value));
    case Assumption::no_reuse: return "If no prompt shared anything with another";
  }
  return "?";
}

}  // namespace

Facts asked_facts(const RecommendAnswer& answer) {
  const Recommendation& result = answer.result;
  const WorkloadFacts& workload = result.workload;
  Facts facts;
  facts.entries.emplace_back("rules", rules_text(*answer.engine.rules, answer.engine.backend_profile));
  facts.entries.emplace_back("memory", human_bytes(answer.engine.memory_bytes) + " on each rank");
  facts.entries.emplace_back(
      "workload", fmt::format("{}: {}, {} prompt tokens, {} of which repeat the start of an earlier prompt",
                              answer.workload, human_plural(workload.requests, "request"),
                              human_count(workload.prompt_tokens), human_count(workload.repeated_tokens)));
  if (workload.too_long_requests > 0)
    facts.entries.emplace_back("too long", too_long_text(workload.too_long_requests, workload.requests,
                                                         result.max_model_len) + "; all figures are of the others");
  facts.entries.emplace_back("driver", driver_sentence(answer.driver));
  facts.entries.emplace_back("requests", fmt::format("bytes and concurrency of requests of {} tokens{}",
                                                     human_count(result.at_length),
                                                     answer.min_concurrency
                                                         ? fmt::format(", at least {} at once",
                                                                       human_real(*answer.min_concurrency))
                                                         : ""));
  return facts;
}

std::string tokens_against(const Candidate& candidate, const Candidate& other,
                           const WorkloadFacts& workload) {
  const double best =
      100 * static_cast<double>(workload.repeated_tokens) / static_cast<double>(workload.prompt_tokens);
  const Objectives& a = candidate.objectives;
  const Objectives& b = other.objectives;
  return fmt::format(
      "{} prompt tokens computed again instead of {}{}; {} of the prompt tokens hit instead of {}, of at most {}",
      human_count(a.reprefilled_tokens), human_count(b.reprefilled_tokens),
      change_text(static_cast<double>(b.reprefilled_tokens), static_cast<double>(a.reprefilled_tokens)),
      human_percent(100 * candidate.hit_rate()), human_percent(100 * other.hit_rate()), human_percent(best));
}

std::string memory_against(const Candidate& candidate, const Candidate& other, std::int64_t tokens) {
  const Objectives& a = candidate.objectives;
  const Objectives& b = other.objectives;
  return fmt::format("{} for a request of {} tokens instead of {}{}: {} at once instead of {}",
                     human_bytes(a.bytes_per_request), human_count(tokens),
                     human_bytes(b.bytes_per_request),
                     change_text(static_cast<double>(b.bytes_per_request), static_cast<double>(a.bytes_per_request)),
                     human_real(a.concurrency), human_real(b.concurrency));
}

void compare_candidates(const Candidate& candidate, const Candidate& other, const Recommendation& result,
                        std::vector<std::string>& gains, std::vector<std::string>& costs) {
  const Objectives& a = candidate.objectives;
  const Objectives& b = other.objectives;
  const auto add = [&](bool better, bool worse, const std::string& text) {
    if (better) gains.push_back(text + ".");
    if (worse) costs.push_back(text + ".");
  };
  add(a.reprefilled_tokens < b.reprefilled_tokens, a.reprefilled_tokens > b.reprefilled_tokens,
      tokens_against(candidate, other, result.workload));
  add(a.bytes_per_request < b.bytes_per_request, a.bytes_per_request > b.bytes_per_request,
      memory_against(candidate, other, result.at_length));
}

std::string prefix_text(const Candidate& pick, const std::optional<LayoutBound>& bound) {
  std::string text = fmt::format("{} of the prompt tokens hit, {} are computed again",
                                 human_percent(100 * pick.hit_rate()), human_count(pick.objectives.reprefilled_tokens));
  if (bound)
    text += fmt::format("; {} are possible in this memory, and no policy passes {}",
                        human_percent(100 * bound->rate(bound->feasible_tokens)),
                        human_percent(100 * bound->rate(bound->upper_tokens)));
  return text;
}

std::vector<std::string> choice_sentences(const RecommendAnswer& answer, const std::string& reference) {
  const Recommendation& result = answer.result;
  const auto concurrency = [&](std::size_t at) { return result.candidates[at].objectives.concurrency; };
  const auto kept = std::count_if(result.front.begin(), result.front.end(),
                                  [&](std::size_t at) { return concurrency(at) >= result.least_concurrency; });
  const std::optional<std::size_t>& held_to = result.reference_candidate;
  std::string in_question = fmt::format("In question: {} of the {} on the Pareto front", kept, result.front.size());
  if (answer.min_concurrency)
    in_question += fmt::format(", which hold the {} requests demanded", human_real(*answer.min_concurrency));
  else if (held_to)
    in_question += fmt::format(", which hold at least {} requests at once, {} of the {} of {}",
                               human_real(result.least_concurrency),
                               human_percent(100 * (1 - answer.rule.most_given_up), 0),
                               human_real(concurrency(*held_to)),
                               held_to == result.default_candidate ? "the default" : reference);
  if (kept == 0) in_question += "; as none does, the one that holds most";
  const std::string alike = human_share(answer.rule.alike);
  return {in_question + ".",
          fmt::format("Of these, those that re-prefill at most {} of all prompt tokens more than the best; of these, "
                      "those within {} of the fewest bytes a request; of these, the one that changes fewest settings, "
                      "then the one of fewest bytes.",
                      alike, alike)};
}

std::string what_if_sentence(const WhatIf& what_if, const Recommendation& result, const std::string& settings) {
  const std::string assumption = assumption_text(what_if);
  if (!what_if.pick) return assumption + " nothing in the space meets the limits.";
  if (*what_if.pick == result.pick) return assumption + " the pick stays.";
  std::string text = fmt::format("{} the pick changes to {}: ", assumption, settings);
  text += fmt::format("{} a request, {} at once", human_bytes(what_if.objectives.bytes_per_request),
                      human_real(what_if.objectives.concurrency));
  if (what_if.assumption != Assumption::no_reuse)
    text += fmt::format(", {} tokens re-prefilled", human_count(what_if.objectives.reprefilled_tokens));
  const Objectives& stated = what_if.stated_pick;
  text += fmt::format("; this pick would have {}, {}", human_bytes(stated.bytes_per_request),
                      human_real(stated.concurrency));
  if (what_if.assumption != Assumption::no_reuse)
    text += fmt::format(", {} tokens", human_count(stated.reprefilled_tokens));
  return text + ".";
}

std::vector<std::size_t> shown_of_front(const Recommendation& result) {
  return spread_of_front(result, most_shown_rows);
}

std::string front_note(const Recommendation& result, std::size_t candidate) {
  const bool is_default = result.default_candidate == candidate;
  if (candidate == result.pick) return is_default ? "pick, default" : "pick";
  if (candidate == result.heedless_pick) return "passed over";
  return is_default ? "default" : "";
}

std::string beaten_note(const Candidate& of_default) {
  if (of_default.passed_over) return "default, kernels";
  return !of_default.meets_limits ? "default, limits" : !of_default.in_space ? "default, other" : "default, beaten";
}

std::string front_sentences(const Recommendation& result, const Candidate* beaten_default, std::size_t shown,
                            const std::string& at_once) {
  std::string note = fmt::format(
      "Computed again: prompt tokens that an earlier prompt began with and that did not hit. At once: {}. No candidate "
      "that was simulated is as good as one of these in all three and better in one; of equal ones the one with the "
      "fewest changes is shown.",
      at_once);
  if (result.heedless_pick) note += " One that is passed over would be picked, but for the kernels.";
  if (beaten_default != nullptr && !beaten_default->meets_limits) note += " The default does not meet the limits.";
  else if (beaten_default != nullptr && !beaten_default->in_space)
    note += " The default is no part of the space searched.";
  if (shown < result.front.size())
    note += fmt::format(" {} of {} are shown; --format csv gives all.", shown, result.front.size());
  return note;
}

void add_listing(Document& document, const char* title, const std::vector<std::string>& items, bool warning) {
  if (items.empty()) return;
  document.blocks.emplace_back(Heading{title});
  document.blocks.emplace_back(Listing{items, warning});
}

void add_served(Document& document, const ServedPick& pick) {
  const bool has_flags = std::any_of(pick.settings.begin(), pick.settings.end(),
                                     [](const EngineSetting& one) { return !one.flag.empty(); });
  std::vector<Column> columns{{"key", "scenario key", "", Align::left}, {"value", "value", "", Align::left}};
  if (has_flags) columns.push_back({"flag", "flag", "", Align::left});
  Table table(std::move(columns));
  for (const EngineSetting& setting : pick.settings) {
    std::vector<Cell> row{setting.key, setting.value};
    if (has_flags) row.emplace_back(setting.flag.empty() ? std::string("no flag") : setting.flag);
    table.add_row(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
  if (!pick.serve.command.empty()) document.blocks.emplace_back(Code{{pick.serve.command}});
  if (!pick.serve.beside.empty()) document.blocks.emplace_back(Listing{pick.serve.beside});
}

void add_recipes(Document& document, const std::vector<ServeRecipe>& recipes) {
  if (recipes.empty()) return;
  document.blocks.emplace_back(Heading{"Beyond this memory"});
  document.blocks.emplace_back(Paragraph{"Read in the engine's package and in the stores' documentation, not run; "
                                         "nothing above counts what such a store finds."});
  for (const ServeRecipe& recipe : recipes) {
    document.blocks.emplace_back(Heading{recipe.name, 3});
    document.blocks.emplace_back(Code{recipe.commands});
    document.blocks.emplace_back(Listing{recipe.beside});
  }
}

}  // namespace hybridkv
