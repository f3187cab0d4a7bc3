#include "report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/replay/loss_report.h"
#include "report/replay/replay_text.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

const char* run_title(RunKey key) {
  switch (key) {
    case RunKey::running: return "running requests";
    case RunKey::waiting: return "waiting requests";
    case RunKey::preemptions: return "preemptions, all together";
    case RunKey::kv_usage: return "memory held by running requests, %";
    case RunKey::state_usage: return "states held by running requests, %";
    case RunKey::hit_rate: return "hit rate, %";
    case RunKey::external_hits: return "hit rate of the connector, %";
    case RunKey::prompt_rate: return "prompt tokens computed, a second";
    case RunKey::generation_rate: return "tokens generated, a second";
    case RunKey::hit_tokens: return "prompt tokens found since the start";
    case RunKey::queried_tokens: return "prompt tokens looked up since the start";
  }
  return "";
}

/// As many decimals as engines print, and none of a count.
std::string run_number(double value) {
  const bool is_count = value == static_cast<double>(static_cast<std::int64_t>(value));
  return is_count ? human_count(static_cast<std::int64_t>(value)) : human_real(value, 1);
}

using SeenValue = std::pair<RunKey, RunFigure>;

Table run_table(const RunLog& run) {
  std::vector<SeenValue> rows;
  for (const RunKey key : all_run_keys)
    if (const auto& figure = run.find(key)) rows.emplace_back(key, *figure);
  return table_of<SeenValue>(
      {{for_people("seen"), [](const SeenValue& row) { return run_title(row.first); }},
       {{"last", "last", "", Align::right}, [](const SeenValue& row) { return run_number(row.second.last); }},
       {{"last_line", "line"}, [](const SeenValue& row) { return row.second.last_line; }},
       {{"largest", "largest", "", Align::right}, [](const SeenValue& row) { return run_number(row.second.largest); }},
       {{"largest_line", "line"}, [](const SeenValue& row) { return row.second.largest_line; }}},
      rows);
}

/// What the log says of the hit rate, and over which requests.
std::string hit_sentence(const RunLog& run) {
  std::string text;
  if (const auto& rate = run.find(RunKey::hit_rate); rate && rate->last_line > 0)
    text = fmt::format("Hit rate {} % ({}; line {})", run_number(rate->last), run.texts->hits_over, rate->last_line);
  if (const auto rate = run.hit_rate_since_start())
    text += fmt::format("{} {:.2f} % since the start ({} of {} prompt tokens; line {})",
                        text.empty() ? "Hit rate" : ",", *rate, run_number(run.find(RunKey::hit_tokens)->last),
                        run_number(run.find(RunKey::queried_tokens)->last), run.find(RunKey::hit_tokens)->last_line);
  return text.empty() ? "No hit rate is printed" : text;
}

std::string prompts_sentence(const PromptLengths& prompts) {
  return fmt::format("{} finished requests had prompts of {} tokens on average (line {})",
                     human_count(prompts.requests),
                     human_real(prompts.tokens / static_cast<double>(prompts.requests), 0), prompts.line);
}

/// Rows that are shown, those of the log first; the rest found least.
constexpr std::size_t most_replayed = 7;

Table replay_table(const LogReplay& replay, std::size_t most) {
  using Row = ReplayedSetting;
  std::vector<Row> rows(replay.settings.begin(),
                        replay.settings.begin() +
                            static_cast<std::ptrdiff_t>(std::min(most, replay.settings.size())));
  constexpr double percent = 100;
  return table_of<Row>({{{"what", "replayed"}, &Row::what},
                        {{"hit_rate_percent", "hit rate"},
                         [](const Row& row) { return Percent{percent * row.cache.counts().hit_rate(), 2}; }},
                        {{"hit_tokens", "tokens", "found"},
                         [](const Row& row) { return row.cache.counts().hit_tokens; }},
                        {{"requests_with_hit", "requests", "with a hit"},
                         [](const Row& row) { return row.cache.counts().requests_with_hit; }},
                        {{"max_concurrency", "concurrency"}, as<Real>(&Row::concurrency)},
                        {{"gives_up", "gives up"}, &Row::gives_up},
                        {for_programs("command"), &Row::command}},
                       rows);
}

std::string why_nothing(const ReplayedSetting& setting) {
  const auto* const stats = std::get_if<SimulationStats>(&setting.cache.index);
  return stats ? why_no_hits(*stats, setting.cache.longest_repeat) : std::string();
}

ordered_json run_json(const RunLog& run) {
  ordered_json json{{"lines", run.lines}, {"several_engines", run.is_of_several}};
  ordered_json& seen = json["seen"] = ordered_json::object();
  for (const RunKey key : all_run_keys)
    if (const auto& figure = run.find(key))
      seen[std::string(to_string(key))] = {{"last", figure->last},
                                           {"last_line", figure->last_line},
                                           {"largest", figure->largest},
                                           {"largest_line", figure->largest_line}};
  if (const auto rate = run.hit_rate_since_start()) json["hit_rate_since_start_percent"] = *rate;
  if (run.prompts)
    json["finished_prompts"] = {{"requests", run.prompts->requests}, {"tokens", run.prompts->tokens}};
  return json;
}

}  // namespace

Table better_table(const std::vector<BetterSetting>& better) {
  using Row = BetterSetting;
  return table_of<Row>({{{"what", "try"}, &Row::what},
                        {{"max_concurrency", "concurrency"}, as<Real>(&Row::concurrency)},
                        {{"kv_cache_tokens", "KV cache", "tokens"}, &Row::kv_cache_tokens},
                        {{"block_size_tokens", "block", "tokens"}, &Row::block_size_tokens},
                        {{"gives_up", "gives up"}, &Row::gives_up},
                        {for_programs("command"), &Row::command}},
                       better);
}

void add_run_time(Document& document, const DoctorAnswer& answer) {
  const RunLog& run = answer.found.run;
  if (run.empty()) return;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Heading{"As it served"});
  add(Paragraph{hit_sentence(run) + "."});
  Listing reasons;
  for (const RunReason& reason : answer.reasons)
    reasons.items.push_back(reason.is_certain ? reason.text : "Perhaps: " + reason.text);
  if (run.prompts) reasons.items.push_back(prompts_sentence(*run.prompts));
  if (run.is_of_several) reasons.items.emplace_back("Values stand for several engines together");
  if (!reasons.items.empty()) add(std::move(reasons));
  add(run_table(run));
}

void add_log_replay(Document& document, const DoctorAnswer& answer) {
  if (!answer.replay) return;
  const LogReplay& replay = *answer.replay;
  const auto add = [&](Block block) { document.blocks.push_back(std::move(block)); };
  add(Heading{"The requests, replayed"});
  const RunLog& run = answer.found.run;
  const std::string seen = run.empty() ? std::string() : " The log: " + hit_sentence(run) + ".";
  add(Paragraph{fmt::format("{}: {} requests, {} prompt tokens.{}", replay_caption(replay.trace, replay.driver),
                            human_count(replay.requests), human_count(replay.prompt_tokens), seen)});
  add(replay_table(replay, most_replayed));
  std::vector<std::string> notes;
  const ReplayedSetting& found = replay.settings.front();
  if (const std::string why = why_nothing(found); !why.empty()) notes.push_back(why);
  if (found.cache.losses) {
    const ReuseLoss& total = found.cache.losses->total;
    if (total.total() > 0) notes.push_back(loss_sentence("As found", *found.cache.losses));
  }
  if (!notes.empty()) add(Listing{notes});
  if (found.cache.losses && found.cache.losses->total.total() > 0)
    add(loss_table(std::array{std::string("as found")}, std::array{*found.cache.losses}));
  Code commands;
  const std::size_t best = replay.settings.size() > 1 && replay.settings[1].cache.counts().hit_tokens >
                                                             found.cache.counts().hit_tokens ? 1 : 0;
  for (const std::size_t at : {std::size_t{0}, best})
    if (at > 0 || commands.lines.empty()) commands.lines.push_back(replay.settings[at].command);
  commands.lines.push_back(replay.search_command);
  add(std::move(commands));
}

void add_run_json(ordered_json& json, const DoctorAnswer& answer) {
  const RunLog& run = answer.found.run;
  if (!run.empty()) {
    json["run_time"] = run_json(run);
    ordered_json& reasons = json["reasons"] = ordered_json::array();
    for (const RunReason& reason : answer.reasons)
      reasons.push_back({{"code", reason.code}, {"text", reason.text}, {"certain", reason.is_certain}});
    json["more_hits"] = to_json(better_table(answer.more_hits));
  }
  if (!answer.replay) return;
  const LogReplay& replay = *answer.replay;
  ordered_json replayed{{"trace", replay.trace},
                        {"requests", replay.requests},
                        {"prompt_tokens", replay.prompt_tokens},
                        {"search", replay.search_command},
                        {"settings", to_json(replay_table(replay, replay.settings.size()))}};
  if (const std::string why = why_nothing(replay.settings.front()); !why.empty()) replayed["why_no_hits"] = why;
  if (const auto& losses = replay.settings.front().cache.losses) replayed["losses"] = losses_json(*losses);
  json["replay"] = std::move(replayed);
}

}  // namespace hybridkv
