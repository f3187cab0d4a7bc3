#include "report/proof/attend_report.h"

#include <fmt/format.h>

#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text;
}

Table bias_table(const AttendAnswer& answer) {
  const std::vector<Field<Allocation>> fields{{{"what", "bias"}, &Allocation::what},
                                              {{"shape", "shape"}, via(&Allocation::shape, shape_text)},
                                              {{"bytes", "bytes"}, &Allocation::bytes}};
  Table table = table_of(fields, answer.memory.biases);
  table.set_footer(cells_of(fields, {.what = "all", .shape = {}, .bytes = total_bytes(answer.memory.biases)}));
  return table;
}

/// "unified; paged at most 2.4e-07 apart; cascade did not run: …".
std::string backends_text(const AttendAnswer& answer) {
  std::string text = "unified";
  for (const BackendComparison& comparison : answer.backends)
    text += comparison.declined
                ? fmt::format("; {} did not run: {}", to_string(comparison.backend), *comparison.declined)
                : fmt::format("; {} at most {:.1e} apart", to_string(comparison.backend),
                              comparison.difference);
  return text;
}

nlohmann::ordered_json report_json(const AttendAnswer& answer) {
  nlohmann::ordered_json json;
  json["schema"] = "hybridkv-attend/1";
  json["folder"] = answer.folder;
  json["requests"] = answer.requests;
  json["query_tokens"] = answer.query_tokens;
  json["shared_blocks"] = answer.shared_blocks;
  json["unique_blocks"] = answer.unique_blocks;
  json["backends"] = nlohmann::ordered_json::array();
  json["backends"].push_back({{"name", "unified"}, {"ran", true}, {"difference", 0.0}});
  for (const BackendComparison& comparison : answer.backends) {
    nlohmann::ordered_json backend{{"name", to_string(comparison.backend)}, {"ran", !comparison.declined}};
    if (comparison.declined) backend["reason"] = *comparison.declined;
    else backend["difference"] = comparison.difference;
    json["backends"].push_back(std::move(backend));
  }
  json["biases"] = nlohmann::ordered_json::array();
  for (const Allocation& bias : answer.memory.biases)
    json["biases"].push_back({{"what", bias.what}, {"shape", bias.shape}, {"bytes", bias.bytes}});
  return json;
}

}  // namespace

std::string render_attend(const AttendAnswer& answer, Format format, const Style& style) {
  if (format == Format::json) return json_text(report_json(answer));
  if (format == Format::csv) return render_csv(bias_table(answer));
  Document document;
  document.blocks.emplace_back(Heading{"Unified attention", 1});
  document.blocks.emplace_back(Facts{
      {{"batch", fmt::format("{}, {}", human_plural(answer.requests, "request"),
                             human_plural(answer.query_tokens, "query token"))},
       {"blocks", fmt::format("{} shared by several query tokens, {} seen by one", human_count(answer.shared_blocks),
                              human_count(answer.unique_blocks))},
       {"backends", backends_text(answer)},
       {"written", answer.folder + ": out.npy, lse.npy"}}});
  if (!answer.memory.biases.empty()) document.blocks.emplace_back(bias_table(answer));
  return render_people(document, format, style);
}

}  // namespace hybridkv
