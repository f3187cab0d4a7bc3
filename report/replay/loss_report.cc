#include "report/replay/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "report/field.h"
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
  struct Row {
    std::string title;
    std::function<std::int64_t(const ReuseLoss&)> tokens;
  };
  std::vector<Field<Row>> fields{{{"cause"}, &Row::title}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto tokens = [&cache = losses[i]](const Row& row) { return row.tokens(cache.total); };
    const auto share = [&cache = losses[i]](const Row& row) {
      return percent_of(row.tokens(cache.total), cache.prompt_tokens);
    };
    fields.push_back({{fmt::format("tokens_{}", i), names[i], "tokens"}, tokens});
    fields.push_back({{fmt::format("share_{}", i), "", "of all"}, share});
  }
  std::vector<Row> rows{{"token by token, endless memory", &ReuseLoss::token_exact_tokens}};
  for (const auto& [cause, name] : loss_cause_names)
    rows.push_back({fmt::format("- {}", loss_title(cause)),
                    [cause = cause](const ReuseLoss& loss) { return loss.of(cause); }});
  rows.push_back({"found", &ReuseLoss::found_tokens});
  return table_of(fields, rows);
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
  struct Row {
    std::int64_t first;
    const LossSeries::Part* part;
  };
  const auto share = [](auto tokens) {
    return [=](const Row& row) {
      return percent_of(std::invoke(tokens, row.part->loss), row.part->prompt_tokens, 1);
    };
  };
  std::vector<Field<Row>> fields{{{"first_request", "from", "request"}, &Row::first},
                                 {{"requests", "requests"}, via(&Row::part, &LossSeries::Part::requests)},
                                 {{"token_exact", "token by", "token"}, share(&ReuseLoss::token_exact_tokens)},
                                 {{"found", "found"}, share(&ReuseLoss::found_tokens)}};
  for (const auto& [cause, name] : loss_cause_names)
    fields.push_back({{fmt::format("lost_{}", name), text_of(cause).first, text_of(cause).second},
                      share([cause = cause](const ReuseLoss& loss) { return loss.of(cause); }),
                      losses.total.of(cause) > 0});
  std::vector<Row> rows;
  for (const LossSeries::Part& part : losses.series.parts())
    rows.push_back({std::ssize(rows) * losses.series.part_requests(), &part});
  return table_of(fields, rows);
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
