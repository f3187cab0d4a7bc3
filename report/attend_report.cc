#include "report/attend_report.h"

#include <fmt/format.h>

#include "report/document.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text;
}

Table bias_table(const AttendReport& report) {
  Table table({{"what", "bias", "", Align::left}, {"shape", "shape", "", Align::left}, {"bytes", "bytes"}});
  for (const Allocation& bias : report.memory.biases) table.add_row({bias.what, shape_text(bias.shape), bias.bytes});
  table.set_footer({std::string("all"), std::monostate{}, total_bytes(report.memory.biases)});
  return table;
}

/// "unified; paged at most 2.4e-07 apart; cascade did not run: …".
std::string backends_text(const AttendReport& report) {
  std::string text = "unified";
  for (const BackendComparison& comparison : report.backends)
    text += comparison.declined
                ? fmt::format("; {} did not run: {}", to_string(comparison.backend), *comparison.declined)
                : fmt::format("; {} at most {:.1e} apart", to_string(comparison.backend),
                              comparison.difference);
  return text;
}

nlohmann::ordered_json report_json(const AttendReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = "hybridkv-attend/1";
  json["folder"] = report.folder;
  json["requests"] = report.requests;
  json["query_tokens"] = report.query_tokens;
  json["shared_blocks"] = report.shared_blocks;
  json["unique_blocks"] = report.unique_blocks;
  json["backends"] = nlohmann::ordered_json::array();
  json["backends"].push_back({{"name", "unified"}, {"ran", true}, {"difference", 0.0}});
  for (const BackendComparison& comparison : report.backends) {
    nlohmann::ordered_json backend{{"name", to_string(comparison.backend)}, {"ran", !comparison.declined}};
    if (comparison.declined) backend["reason"] = *comparison.declined;
    else backend["difference"] = comparison.difference;
    json["backends"].push_back(std::move(backend));
  }
  json["biases"] = nlohmann::ordered_json::array();
  for (const Allocation& bias : report.memory.biases)
    json["biases"].push_back({{"what", bias.what}, {"shape", bias.shape}, {"bytes", bias.bytes}});
  return json;
}

}  // namespace

std::string render_attend(const AttendReport& report, Format format, const Style& style) {
  if (format == Format::json) return json_text(report_json(report));
  if (format == Format::csv) return render_csv(bias_table(report));
  Document document;
  document.blocks.emplace_back(Heading{"Unified attention", 1});
  document.blocks.emplace_back(Facts{
      {{"batch", fmt::format("{}, {}", human_plural(report.requests, "request"),
                             human_plural(report.query_tokens, "query token"))},
       {"blocks", fmt::format("{} shared by several query tokens, {} seen by one", human_count(report.shared_blocks),
                              human_count(report.unique_blocks))},
       {"backends", backends_text(report)},
       {"written", report.folder + ": out.npy, lse.npy"}}});
  if (!report.memory.biases.empty()) document.blocks.emplace_back(bias_table(report));
  return format == Format::markdown ? render_markdown(document) : render_text(document, style);
}

}  // namespace hybridkv
