#include "report/replay/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/human.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

struct CauseText {
  const char* title;
  const char* first;   // heading of a column, in two lines
  const char* second;
};

const CauseText& text_of(LossCause cause) {
  static constexpr std::array<CauseText, num_loss_causes> texts{{
      {"tail of a block or match unit", "tail of", "a block"},
      {"last token is never matched", "last", "token"},
      {"no state was ever made there", "no state", "made"},
      {"dropped by retention", "dropped", ""},
      {"state evicted", "state", "evicted"},
      {"K and V evicted", "K and V", "evicted"},
      {"another group lacks it", "group", "lacks it"},
      {"published too late", "too", "late"},
      {"would need more memory", "more", "memory"},
  }};
  return texts[static_cast<std::size_t>(cause)];
}

ordered_json loss_json(const ReuseLoss& loss) {
  ordered_json lost;
  for (const auto& cause : loss_cause_names) lost[std::string(cause.name)] = loss.of(cause.value);
  return {{"token_exact_tokens", loss.token_exact_tokens}, {"found_tokens", loss.found_tokens}, {"lost", lost}};
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view loss_title(LossCause cause) { return text_of(cause).title; }

Table loss_table(std::span<const std::string> names, std::span<const LossStats> losses) {
  std::vector<Column> columns{{"cause", "", "", Align::left}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    columns.push_back({fmt::format("tokens_{}", i), names[i], "tokens"});
    columns.push_back({fmt::format("share_{}", i), "", "of all"});
  }
  Table table(std::move(columns));
  const auto add = [&](std::string_view title, auto&& tokens_of) {
    std::vector<Cell> row{std::string(title)};
    for (const LossStats& cache : losses) {
      const std::int64_t tokens = tokens_of(cache.total);
      row.push_back(tokens);
      row.push_back(percent_of(tokens, cache.prompt_tokens));
    }
    table.add_row(std::move(row));
  };
  add("token by token, endless memory", [](const ReuseLoss& loss) { return loss.token_exact_tokens; });
  for (const auto& [cause, name] : loss_cause_names)
    add(fmt::format("- {}", loss_title(cause)), [cause = cause](const ReuseLoss& loss) { return loss.of(cause); });
  add("found", [](const ReuseLoss& loss) { return loss.found_tokens; });
  return table;
}

std::string loss_sentence(const std::string& name, const LossStats& losses) {
  const ReuseLoss& total = losses.total;
  if (total.total() == 0)
    return fmt::format("{}: everything that an earlier prompt began with is found", name);
  const auto most = static_cast<LossCause>(std::max_element(total.lost.begin(), total.lost.end()) -
                                           total.lost.begin());
  return fmt::format("{}: {:.1f} % of the prompt tokens are computed again although an earlier prompt began with them; "
                     "most of it, {:.1f} %, as: {}",
                     name, percent(total.total(), losses.prompt_tokens), percent(total.of(most), losses.prompt_tokens),
                     loss_title(most));
}

Table loss_series_table(const LossStats& losses) {
  std::vector<Column> columns{{"first_request", "from", "request"},
                              {"requests", "requests"},
                              {"token_exact", "token by", "token"},
                              {"found", "found"}};
  for (const auto& [cause, name] : loss_cause_names)
    if (losses.total.of(cause) > 0)
      columns.push_back({fmt::format("lost_{}", name), text_of(cause).first, text_of(cause).second});
  Table table(std::move(columns));
  std::int64_t first = 0;
  for (const LossSeries::Part& part : losses.series.parts()) {
    const auto cell = [&](std::int64_t tokens) { return percent_of(tokens, part.prompt_tokens, 1); };
    std::vector<Cell> row{first, part.requests, cell(part.loss.token_exact_tokens), cell(part.loss.found_tokens)};
    for (const auto& [cause, name] : loss_cause_names)
      if (losses.total.of(cause) > 0) row.push_back(cell(part.loss.of(cause)));
    table.add_row(std::move(row));
    first += losses.series.part_requests();
  }
  return table;
}

void add_losses(Document& document, std::span<const std::string> names, std::span<const LossStats> losses,
                bool over_time) {
  if (losses.empty()) return;
  document.blocks.emplace_back(Heading{"Where the tokens went"});
  document.blocks.emplace_back(loss_table(names, losses));
  Listing most;
  for (std::size_t i = 0; i < losses.size(); ++i) most.items.push_back(loss_sentence(names[i], losses[i]) + ".");
  document.blocks.emplace_back(std::move(most));
  if (losses.size() > 1 || !over_time) return;
  document.blocks.emplace_back(Heading{"Where the tokens went over time"});
  document.blocks.emplace_back(loss_series_table(losses.front()));
}

Table with_losses(const Table& caches, std::span<const LossStats> losses) {
  if (losses.empty()) return caches;
  std::vector<Column> columns = caches.columns();
  columns.push_back({"token_exact_tokens", "token by token"});
  for (const auto& [cause, name] : loss_cause_names)
    columns.push_back({fmt::format("lost_{}", name), std::string(loss_title(cause))});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < losses.size(); ++i) {
    std::vector<Cell> row = caches.rows()[i];
    row.push_back(losses[i].total.token_exact_tokens);
    row.insert(row.end(), losses[i].total.lost.begin(), losses[i].total.lost.end());
    table.add_row(std::move(row));
  }
  return table;
}

ordered_json losses_json(const LossStats& losses) {
  ordered_json json = loss_json(losses.total);
  json["parts"] = ordered_json::array();
  for (const LossSeries::Part& part : losses.series.parts()) {
    ordered_json one{{"requests", part.requests}, {"prompt_tokens", part.prompt_tokens}};
    one.update(loss_json(part.loss));
    json["parts"].push_back(std::move(one));
  }
  return json;
}

}  // namespace hybridkv
