#include "report/replay/bound_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "ask/clock/served_clock.h"
#include "base/add_once.h"
#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/replay/times_text.h"

namespace hybridkv {

namespace {

/// The name, with how its arrangement is known where no engine's run confirms it.
std::string layout_name(const BoundAnswer& answer) {
  if (answer.layout.evidence == Evidence::run || !answer.refused.empty()) return answer.name;
  return fmt::format("{} ({})", answer.name, to_string(answer.layout.evidence));
}

std::string share_text(const BoundAnswer& answer, std::int64_t tokens) {
  return human_share(answer.layout.rate(tokens));
}

/// "5.1 % found, at least 31.3 % possible, at most 31.8 %".
std::string verdict_text(const BoundAnswer& answer) {
  if (!answer.router.empty())
    return fmt::format("{}: {} found round robin, {} by {}, at most {} whatever routes and evicts",
                       layout_name(answer), share_text(answer, answer.found_tokens),
                       share_text(answer, answer.layout.feasible_tokens), answer.router,
                       share_text(answer, answer.layout.upper_tokens));
  return fmt::format("{}: {} found, at least {} possible in this memory, at most {}", layout_name(answer),
                     share_text(answer, answer.found_tokens), share_text(answer, answer.layout.feasible_tokens),
                     share_text(answer, answer.layout.upper_tokens));
}

constexpr const char* one_bound_text =
    "Shares of the prompt tokens, one request at a time. Found: the engine's own rules, replayed. Possible: a "
    "schedule that knows the whole trace, keeps to the memory and leaves running requests their own; no engine's "
    "eviction reaches it for certain. At most: proven for every policy by prices of the memory over time (weak "
    "duality of the problem of what to keep), whatever the engine evicts, retains or prefetches within this memory. "
    "Endless: everything kept. Token by token: any prefix found as well.";
constexpr const char* fleet_bound_text =
    "Shares of the prompt tokens, one request at a time. Found: round robin. Possible: the best of the routers that "
    "hybridkv knows, each replica by its engine's rules. At most: proven for every router, every eviction and every "
    "store or transfer between replicas, since whatever they do is a schedule of one memory as large as all. "
    "Endless: everything kept. Token by token: any prefix found as well.";

bool is_fleet(const std::vector<BoundAnswer>& answers) {
  return std::any_of(answers.begin(), answers.end(), [](const BoundAnswer& one) { return !one.router.empty(); });
}

bool has_time(const BoundAnswer& answer) { return answer.time.has_value(); }

bool has_times(const std::vector<BoundAnswer>& answers) {
  return std::any_of(answers.begin(), answers.end(), has_time);
}

/// "N = 1: a first token after 90.0 ms ± 22 % in the mean, by no policy before 61.2 ms ± 22 %, by the same clock".
std::string time_text(const BoundAnswer& answer) {
  const double error = answer.time->timed.served.source.error().first_token_median;
  return fmt::format("{}: a first token after {} in the mean, by no policy before {}, by the same clock",
                     layout_name(answer), with_error(answer.time->replayed, error),
                     with_error(answer.time->least(), error));
}

/// What is said of the times of the answers, each once. Pre: one of them has times.
template <class Text>
std::string each_once(const std::vector<BoundAnswer>& answers, const char* between, Text&& text) {
  std::vector<std::string> said;
  for (const BoundAnswer& answer : answers) {
    if (!answer.time) continue;
    const std::string one = text(answer.time->timed);
    add_once(said, one);
  }
  return fmt::format("{}", fmt::join(said, between));
}

std::string clocks_text(const std::vector<BoundAnswer>& answers) {
  return each_once(answers, ". ", [](const TimedAnswer& timed) { return clock_label(timed.served); });
}

/// How the times are made, by which clocks.
std::string time_basis(const std::vector<BoundAnswer>& answers) {
  return fmt::format(
      "First tokens, on {}: by the times of the trace, replayed with the engine's own rules. By no policy before: "
      "proven for whatever is kept, in any memory, by the same clock. Every request is given all that an earlier "
      "prompt began with, and either has the machine for itself, or waits until what each takes of the machine for "
      "itself is done in the best order; the larger mean holds. {}.",
      each_once(answers, " and on ",
                [](const TimedAnswer& timed) { return fmt::format("{} {}", timed.gpus(), timed.served.gpu); }),
      clocks_text(answers));
}

Document bound_document(const std::vector<BoundAnswer>& answers, const std::string& trace) {
  Document document;
  document.blocks.emplace_back(Heading{"How far from the best possible: " + trace, 1});
  document.blocks.emplace_back(bound_table(answers));
  Listing verdicts, refusals{{}, true};
  for (const BoundAnswer& answer : answers)
    if (answer.refused.empty())
      verdicts.items.push_back(verdict_text(answer));
    else
      refusals.items.push_back(fmt::format("{} has no bound: {}", answer.name, answer.refused));
  for (const BoundAnswer& answer : answers) {
    if (answer.time) {
      verdicts.items.push_back(time_text(answer));
    } else if (!answer.no_time.empty()) {
      refusals.items.push_back(fmt::format("{} has no times: {}", answer.name, answer.no_time));
    }
  }
  document.blocks.emplace_back(std::move(verdicts));
  if (!refusals.items.empty()) document.blocks.emplace_back(std::move(refusals));
  document.blocks.emplace_back(Paragraph{is_fleet(answers) ? fleet_bound_text : one_bound_text});
  if (has_times(answers)) document.blocks.emplace_back(Paragraph{time_basis(answers)});
  return document;
}

}  // namespace

Table bound_table(const std::vector<BoundAnswer>& answers) {
  using Row = BoundAnswer;
  const auto known = [](auto getter) { return where([](const Row& row) { return row.refused.empty(); }, getter); };
  const auto of = [&](auto member) { return known(via(&Row::layout, member)); };
  // Programs get shares from 0 to 1.
  const auto rate = [&](auto tokens) {
    return known([=](const Row& row) { return Real{row.layout.rate(std::invoke(tokens, row)), 4}; });
  };
  const auto rate_of = [&](auto member) { return rate(via(&Row::layout, member)); };
  const bool timed = has_times(answers);
  // For people with its unit, for programs in seconds.
  const auto shown = [&](auto getter) {
    return where(has_time, [=](const Row& row) { return human_seconds(std::invoke(getter, *row.time)); });
  };
  const auto seconds = [&](auto getter) {
    return where(has_time, [=](const Row& row) { return Real{std::invoke(getter, *row.time), 6}; });
  };
  return table_of<Row>(
      {{{"name", "layout"}, layout_name},
       {for_programs("evidence"), of(&LayoutBound::evidence)},
       {for_programs("refused"), where([](const Row& row) { return !row.refused.empty(); }, &Row::refused)},
       {{"unit_tokens", "unit", "tokens"}, of(&LayoutBound::unit_tokens)},
       {for_programs("unit_bytes"), of(&LayoutBound::unit_bytes)},
       {for_programs("state_bytes"), of(&LayoutBound::state_bytes)},
       {for_programs("memory_bytes"), of(&LayoutBound::memory_bytes)},
       {for_programs("requests"), of(&LayoutBound::requests)},
       {for_programs("prompt_tokens"), of(&LayoutBound::prompt_tokens)},
       {for_programs("found_tokens"), known(&Row::found_tokens)},
       {{"found_rate", "found"}, rate(&Row::found_tokens)},
       {{"router", "best", "router"}, known(&Row::router), is_fleet(answers)},
       {for_programs("feasible_tokens"), of(&LayoutBound::feasible_tokens)},
       {{"feasible_rate", "possible", "at least"}, rate_of(&LayoutBound::feasible_tokens)},
       {for_programs("scheduled_tokens"), of(&LayoutBound::scheduled_tokens)},
       {for_programs("feasible_is_replayed"), of(&LayoutBound::is_replayed)},
       {for_programs("upper_tokens"), of(&LayoutBound::upper_tokens)},
       {{"upper_rate", "no policy", "more than"}, rate_of(&LayoutBound::upper_tokens)},
       {for_programs("endless_tokens"), of(&LayoutBound::endless_tokens)},
       {{"endless_rate", "endless", "memory"}, rate_of(&LayoutBound::endless_tokens)},
       {for_programs("token_exact_tokens"), known(&Row::token_exact_tokens)},
       {{"token_exact_rate", "token", "by token"}, rate(&Row::token_exact_tokens)},
       {for_programs("evaluations"), of(&LayoutBound::evaluations)},
       {for_people("first token", "found", Align::right), shown(&TimeBound::replayed), timed},
       {for_people("no policy", "before", Align::right), shown(&TimeBound::least), timed},
       {for_programs("first_token_mean_seconds"), seconds(&TimeBound::replayed), timed},
       {for_programs("least_first_token_mean_seconds"), seconds(&TimeBound::least), timed},
       {for_programs("alone_first_token_mean_seconds"), seconds(&TimeBound::alone), timed},
       {for_programs("best_order_first_token_mean_seconds"), seconds(&TimeBound::in_best_order), timed}},
      answers);
}

std::string render_bound(const std::vector<BoundAnswer>& answers, const std::string& trace, Format format,
                         const Style& style) {
  if (format == Format::csv) return render_csv(bound_table(answers));
  if (format != Format::json) return render_people(bound_document(answers, trace), format, style);
  nlohmann::ordered_json json{{"schema", bound_schema_id}, {"trace", trace}};
  if (has_times(answers)) json["clock"] = clocks_text(answers);
  json["layouts"] = to_json(bound_table(answers));
  return json_text(json);
}

}  // namespace hybridkv
