#include "report/replay/trace_report.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/document.h"
#include "report/field.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

constexpr double reuse_shares[] = {0.1, 0.25, 0.5, 0.75, 0.9, 1};

std::string of_requests(const TraceAnswer& answer, std::int64_t requests) {
  return human_share(static_cast<double>(requests) / static_cast<double>(answer.statistics.requests));
}

double span_seconds(const TraceStatistics& all) { return all.last_seconds - all.first_seconds; }

/// Requests a second; nothing where there is no span.
std::optional<double> rate(const TraceStatistics& all) {
  if (!(span_seconds(all) > 0)) return std::nullopt;
  return static_cast<double>(all.requests) / span_seconds(all);
}

Facts facts(const TraceAnswer& answer) {
  const TraceStatistics& all = answer.statistics;
  Facts facts;
  const auto add = [&](const char* label, std::string value) { facts.entries.emplace_back(label, std::move(value)); };
  if (answer.form) add("form", std::string(to_string(*answer.form)));
  add("requests", human_count(all.requests));
  if (answer.bad_lines > 0) add("damaged lines", human_count(answer.bad_lines) + " skipped");
  add("time", rate(all) ? fmt::format("{} s, {} requests a second", human_real(span_seconds(all), 1),
                                      human_real(*rate(all), 2))
                        : "all at once");
  if (!all.in_order) add("order", "not that of time: the open loop refuses it, other drivers take it as it is");
  if (all.dependencies > 0) add("dependencies", human_count(all.dependencies) + " on other requests");
  add("tokens", fmt::format("{} of prompts, {} generated", human_count(all.prompt_tokens),
                            human_count(all.output_tokens)));
  if (answer.uncovered_tokens > 0)
    add("without an id", fmt::format("{} of the prompt tokens: content that no other request has",
                                     human_share(answer.share(answer.uncovered_tokens))));
  add("repeated",
      fmt::format("{} of the prompt tokens, {} in whole ids", human_share(answer.share(all.repeated_tokens)),
                  human_share(answer.share(all.repeated_id_tokens))));
  std::string different = human_count(all.distinct_tokens) + " tokens";
  if (answer.token_bytes)
    different += ", " + human_cell(ByteCount{static_cast<std::int64_t>(all.distinct_tokens * *answer.token_bytes)}) +
                 " of K and V";
  add("different content", different);
  add("go on", all.going_on == 0
                   ? "no prompt goes on from an earlier one"
                   : fmt::format("{} of the prompts go on from an earlier one, with {} of the tokens; {} of all "
                                 "tokens are what it had", of_requests(answer, all.going_on),
                                 human_share(answer.share(all.going_on_prompt_tokens)),
                                 human_share(answer.share(all.taken_up_tokens))));
  if (all.sessions > 0)
    add("sessions", fmt::format("{} of {} to {} prompts, {} on average", human_count(all.sessions),
                                human_real(all.session_prompts.min, 0), human_real(all.session_prompts.max, 0),
                                human_real(all.session_prompts.mean, 1)));
  return facts;
}

Table turn_table(const TraceStatistics& all) {
  using At = std::size_t;  // position of a turn
  const auto name = [](At at) {
    return fmt::format("{}{}", at + 1, at + 1 == TraceStatisticsReader::most_turns ? " and later" : "");
  };
  const auto share = [&](At at) { return percent_of(all.turns[at].returned, all.turns[at].prompts, 1); };
  return table_of_positions({{{"turn", "turn"}, name},
                             {{"prompts", "prompts"}, [&](At at) { return all.turns[at].prompts; }},
                             {{"returned", "another one", "goes on"}, [&](At at) { return all.turns[at].returned; }},
                             {{"returned_rate", "share"}, share}},
                            all.turns.size());
}

Document document(const TraceAnswer& answer) {
  const TraceStatistics& all = answer.statistics;
  Document document;
  document.blocks.emplace_back(Heading{"What is in " + answer.trace, 1});
  document.blocks.emplace_back(facts(answer));
  document.blocks.emplace_back(Heading{"Lengths and returns"});
  document.blocks.emplace_back(trace_spreads(answer));
  if (all.repeated_id_tokens > 0) {
    document.blocks.emplace_back(Heading{"Until repeated tokens return"});
    document.blocks.emplace_back(reuse_distances(answer));
    document.blocks.emplace_back(Paragraph{
        std::string("Of the tokens of whole ids that an earlier prompt began with, so many return within so many other "
                    "requests, and within so much different content since, their own prefix included: what a memory "
                    "that keeps the latest tokens must hold to find them") +
        (answer.token_bytes ? fmt::format(". Bytes are K and V of the layers of {} with full attention, {} a token{}; "
                                          "states come on top.", answer.model, human_count(*answer.token_bytes),
                                          answer.ranks > 1 ? fmt::format(" on each of {} ranks", answer.ranks) : "")
                            : "; name a model for bytes.")});
  }
  if (all.going_on > 0) {
    document.blocks.emplace_back(Heading{"Sessions"});
    document.blocks.emplace_back(turn_table(all));
    document.blocks.emplace_back(Paragraph{
        "A prompt goes on from an earlier one where it begins with all full ids of it, at least two. A session is a "
        "prompt with all that go on from it, directly or not."});
  }
  return document;
}

}  // namespace

Table trace_spreads(const TraceAnswer& answer) {
  const TraceStatistics& all = answer.statistics;
  struct Row {
    const char* name;
    const Spread* spread;
    int digits;
  };
  std::vector<Row> rows{{"prompt tokens", &all.input, 0},
                        {"output tokens", &all.output, 0},
                        {"requests until gone on", &all.requests_between, 0},
                        {"seconds until gone on", &all.seconds_between, 1},
                        {"prompts a session", &all.session_prompts, 0}};
  std::erase_if(rows, [](const Row& row) { return row.spread->count == 0; });
  const auto of = [](auto member) {
    return [=](const Row& row) { return Real{row.spread->*member, row.digits}; };
  };
  return table_of<Row>({{{"name"}, &Row::name},
                        {{"count", "count"}, [](const Row& row) { return row.spread->count; }},
                        {{"min", "min"}, of(&Spread::min)},
                        {{"median", "median"}, of(&Spread::median)},
                        {{"mean", "mean"}, [](const Row& row) { return Real{row.spread->mean, 1}; }},
                        {{"p90", "p90"}, of(&Spread::p90)},
                        {{"p99", "p99"}, of(&Spread::p99)},
                        {{"max", "max"}, of(&Spread::max)}},
                       rows);
}

Table reuse_distances(const TraceAnswer& answer) {
  const ReuseDistances::Distances& distances = answer.statistics.distances;
  const auto bytes = [&](double share) { return ByteCount{distances.tokens.quantile(share) * *answer.token_bytes}; };
  return table_of<double>(
      {{{"share", "of repeated", "tokens", Align::left}, [](double share) { return Percent{100 * share, 0}; }},
       {{"requests", "requests", "between"}, [&](double share) { return distances.requests.quantile(share); }},
       {{"tokens", "content since", "tokens"}, [&](double share) { return distances.tokens.quantile(share); }},
       {{"bytes", "content since", "K and V"}, bytes, answer.token_bytes.has_value()}},
      reuse_shares);
}

std::string render_trace(const TraceAnswer& answer, Format format, const Style& style) {
  const TraceStatistics& all = answer.statistics;
  if (format == Format::csv) return render_csv(trace_spreads(answer));
  if (format != Format::json) return render_people(document(answer), format, style);
  nlohmann::ordered_json json{{"schema", trace_schema_id}, {"trace", answer.trace}};
  json["form"] = answer.form ? nlohmann::ordered_json(to_string(*answer.form)) : nlohmann::ordered_json();
  json["requests"] = all.requests;
  json["bad_lines"] = answer.bad_lines;
  json["seconds"] = span_seconds(all);
  json["requests_per_second"] = rate(all) ? nlohmann::ordered_json(*rate(all)) : nlohmann::ordered_json();
  json["in_order"] = all.in_order;
  json["dependencies"] = all.dependencies;
  json["prompt_tokens"] = all.prompt_tokens;
  json["output_tokens"] = all.output_tokens;
  json["uncovered_tokens"] = answer.uncovered_tokens;
  json["repeated_tokens"] = all.repeated_tokens;
  json["repeated_rate"] = answer.share(all.repeated_tokens);
  json["repeated_id_tokens"] = all.repeated_id_tokens;
  json["repeated_id_rate"] = answer.share(all.repeated_id_tokens);
  json["distinct_tokens"] = all.distinct_tokens;
  json["token_bytes"] = answer.token_bytes ? nlohmann::ordered_json(*answer.token_bytes) : nlohmann::ordered_json();
  json["going_on"] = all.going_on;
  json["going_on_prompt_tokens"] = all.going_on_prompt_tokens;
  json["taken_up_tokens"] = all.taken_up_tokens;
  json["sessions"] = all.sessions;
  json["spreads"] = to_json(trace_spreads(answer));
  json["reuse"] = to_json(reuse_distances(answer));
  json["turns"] = to_json(turn_table(all));
  return json_text(json);
}

}  // namespace hybridkv
