#include "report/forward_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

std::string_view status_text(ForwardStatus status) {
  switch (status) {
    case ForwardStatus::passed: return "passed";
    case ForwardStatus::failed: return "FAILED";
    case ForwardStatus::does_not_apply: return "does not apply";
  }
  return "?";
}

std::string planted_text(const ForwardReport& report) {
  if (report.fault) return std::string(to_string(*report.fault));
  if (report.layout_fault) return std::string(to_string(*report.layout_fault));
  return "";
}

std::int64_t count_of(const ForwardReport& report, ForwardStatus status) {
  return std::count_if(report.results.begin(), report.results.end(),
                       [&](const ForwardResult& result) { return result.status == status; });
}

Cell unless_zero(std::int64_t count) { return count == 0 ? Cell(std::monostate{}) : Cell(count); }

Table cases_table(const ForwardReport& report) {
  Table table({{"mode", "mode", "", Align::left},
               {"case", "case", "", Align::left},
               {"status", "result", "", Align::left},
               {"tokens", "outputs", "compared"},
               {"hit_tokens", "hit", "tokens"},
               {"copies", "copies"},
               {"preemptions", "preempted"},
               {"rejected", "rejected", "drafts"},
               {"reused_blocks", "reused", "blocks"},
               {"max_error", "largest", "error"},
               {"tolerance", "allowed"}});
  for (const ForwardResult& result : report.results) {
    const bool ran = result.status != ForwardStatus::does_not_apply;
    table.add_row({std::string(to_string(result.mode)), std::string(to_string(result.forward_case)),
                   std::string(status_text(result.status)), ran ? Cell(result.tokens) : Cell(std::monostate{}),
                   unless_zero(result.hit_tokens), unless_zero(result.copies), unless_zero(result.preemptions),
                   unless_zero(result.rejected), unless_zero(result.reused_blocks),
                   ran ? Cell(fmt::format("{:.1e}", result.max_error)) : Cell(std::monostate{}),
                   ran ? Cell(fmt::format("{:.1e}", result.tolerance)) : Cell(std::monostate{})});
  }
  return table;
}

std::string conclusion(const ForwardReport& report) {
  const ForwardResult* failure = report.first_failure();
  const std::string planted = planted_text(report);
  if (!planted.empty() && failure)
    return fmt::format("The planted fault {} changes the output: {} in mode {} found it.", planted,
                       to_string(failure->forward_case), to_string(failure->mode));
  if (!planted.empty()) return fmt::format("The planted fault {} does not change any output.", planted);
  if (failure) return "Through the pages the network computes something else than without them.";
  if (!report.passed()) return "No case applies, so nothing is shown.";
  return "Through the pages every output equals that of the same network run dense and unpaged.";
}

/// One line per reason or fault, each once.
Listing messages_of(const ForwardReport& report, ForwardStatus status) {
  Listing listing{{}, status == ForwardStatus::failed};
  for (const ForwardResult& result : report.results) {
    if (result.status != status) continue;
    const std::string text = status == ForwardStatus::failed
                                 ? fmt::format("{} in mode {}: {}", to_string(result.forward_case),
                                               to_string(result.mode), result.message)
                                 : "does not apply: " + result.message;
    if (std::find(listing.items.begin(), listing.items.end(), text) == listing.items.end())
      listing.items.push_back(text);
  }
  return listing;
}

void add_messages(Document& document, const ForwardReport& report, ForwardStatus status) {
  Listing listing = messages_of(report, status);
  if (!listing.items.empty()) document.blocks.emplace_back(std::move(listing));
}

void add_single(Document& document, const ForwardReport& report) {
  const std::string planted = planted_text(report);
  document.blocks.emplace_back(Heading{fmt::format("{}, N = {}{}", report.model, report.attention_pack_size,
                                                   planted.empty() ? "" : ", planted: " + planted)});
  document.blocks.emplace_back(Facts{
      {{"network", fmt::format("{} layers with a cache in the model's order, heads and head sizes over {}", report.layers,
                               report.scale)},
       {"plan", fmt::format("block {}, page {}", human_plural(report.block_size_tokens, "token"),
                            human_bytes(report.page_bytes))},
       {"time", fmt::format("{:.1f} s", report.seconds)}}});
  document.blocks.emplace_back(cases_table(report));
  add_messages(document, report, ForwardStatus::does_not_apply);
  add_messages(document, report, ForwardStatus::failed);
  document.blocks.emplace_back(Paragraph{conclusion(report)});
}

void add_many(Document& document, std::span<const ForwardReport> reports) {
  Table table({{"model", "model", "", Align::left},
               {"attention_pack_size", "N"},
               {"fault", "planted", "", Align::left},
               {"layers", "layers"},
               {"block_size_tokens", "block", "tokens"},
               {"passed", "cases", "passed"},
               {"does_not_apply", "do not", "apply"},
               {"failed", "failed"},
               {"tokens", "outputs", "compared"},
               {"max_error", "largest", "error"},
               {"tolerance", "allowed"},
               {"seconds", "time", "s"}});
  double seconds = 0;
  bool all_passed = true, all_planted = true, all_found = true;
  for (const ForwardReport& report : reports) {
    std::int64_t tokens = 0;
    double error = 0, tolerance = 0;
    for (const ForwardResult& result : report.results) {
      tokens += result.tokens;
      error = std::max(error, result.max_error);
      tolerance = std::max(tolerance, result.tolerance);
    }
    table.add_row({report.model, report.attention_pack_size, planted_text(report), report.layers,
                   report.block_size_tokens, count_of(report, ForwardStatus::passed),
                   count_of(report, ForwardStatus::does_not_apply), count_of(report, ForwardStatus::failed), tokens,
                   fmt::format("{:.1e}", error), fmt::format("{:.1e}", tolerance), Real{report.seconds, 1}});
    seconds += report.seconds;
    all_passed = all_passed && report.passed();
    all_planted = all_planted && !planted_text(report).empty();
    all_found = all_found && report.first_failure() != nullptr;
  }
  document.blocks.emplace_back(Heading{"Forward passes through shared pages"});
  document.blocks.emplace_back(std::move(table));
  for (const ForwardReport& report : reports) {
    if (report.passed()) continue;
    document.blocks.emplace_back(Heading{fmt::format("{}, N = {}", report.model, report.attention_pack_size), 3});
    add_messages(document, report, ForwardStatus::failed);
    document.blocks.emplace_back(Paragraph{conclusion(report)});
  }
  const char* verdict = "Not every run passed.";
  if (all_passed) verdict = "Through the pages every output equals that of the same network run dense and unpaged.";
  if (all_planted)
    verdict = all_found ? "Every planted fault changes the output." : "Not every planted fault changes the output.";
  document.blocks.emplace_back(Paragraph{fmt::format("{} {:.1f} s.", verdict, seconds)});
}

}  // namespace

Document forward_report(std::span<const ForwardReport> reports) {
  expects(!reports.empty(), "a report has at least one run");
  Document document;
  if (reports.size() == 1)
    add_single(document, reports.front());
  else
    add_many(document, reports);
  return document;
}

Table forward_table(std::span<const ForwardReport> reports) {
  Table table({{"model", "model", "", Align::left},
               {"attention_pack_size", "N"},
               {"scale", "scale"},
               {"fault", "planted", "", Align::left},
               {"block_size_tokens", "block"},
               {"mode", "mode", "", Align::left},
               {"case", "case", "", Align::left},
               {"status", "result", "", Align::left},
               {"requests", "requests"},
               {"tokens", "outputs compared"},
               {"hit_tokens", "hit tokens"},
               {"copies", "copies"},
               {"preemptions", "preemptions"},
               {"rejected", "rejected drafts"},
               {"reused_blocks", "reused blocks"},
               {"max_error", "largest error"},
               {"tolerance", "allowed"},
               {"message", "message", "", Align::left}});
  for (const ForwardReport& report : reports)
    for (const ForwardResult& result : report.results)
      table.add_row({report.model, report.attention_pack_size, report.scale, planted_text(report),
                     report.block_size_tokens, std::string(to_string(result.mode)),
                     std::string(to_string(result.forward_case)),
                     std::string(result.status == ForwardStatus::failed ? "failed" : status_text(result.status)),
                     result.requests, result.tokens, result.hit_tokens, result.copies, result.preemptions,
                     result.rejected, result.reused_blocks, Real{result.max_error}, Real{result.tolerance},
                     result.message});
  return table;
}

std::string render_forward(std::span<const ForwardReport> reports, Format format, const Style& style) {
  switch (format) {
    case Format::table: return render_text(forward_report(reports), style);
    case Format::markdown: return render_markdown(forward_report(reports));
    case Format::csv: return render_csv(forward_table(reports));
    case Format::json: break;
  }
  nlohmann::ordered_json json;
  json["schema"] = forward_schema_id;
  json["passed"] =
      std::all_of(reports.begin(), reports.end(), [](const ForwardReport& report) { return report.passed(); });
  json["results"] = to_json(forward_table(reports));
  return json_text(json);
}

}  // namespace hybridkv
