#include "report/proof/verify_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/human.h"
#include "report/json_text.h"
#include "report/proof/planted_faults.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

std::string requests_text(const VerifyReport& report) {
  std::string text;
  for (const BatchRequest& request : report.requests)
    text += fmt::format("{}{} over {} cached{}", text.empty() ? "" : ", ",
                        human_plural(request.query_tokens, request.is_decode ? "decode token" : "prompt token"),
                        human_count(request.context()), request.is_decode ? " (decode)" : "");
  return text;
}

Facts run_facts(const VerifyReport& report) {
  Facts facts;
  facts.entries.emplace_back("requests", requests_text(report));
  facts.entries.emplace_back(
      "memory", fmt::format("{} reserved in the pools, {} resident at the end, {} at the peak of the process",
                            human_bytes(report.reserved_bytes), human_bytes(report.resident_bytes),
                            human_bytes(report.peak_process_bytes)));
  if (report.max_element_offset > 0)
    facts.entries.emplace_back(
        "reach", fmt::format("element offsets up to {}{}", human_count(report.max_element_offset),
                             report.max_element_offset > (std::int64_t(1) << 31) ? ", beyond 2^31" : ""));
  facts.entries.emplace_back("time", fmt::format("{:.1f} s", report.seconds));
  return facts;
}

/// The check that owns the fault where it found it, else the first that did, if any.
std::string caught_by(const VerifyReport& report) {
  for (const CheckResult& check : report.checks)
    if (check.status == CheckStatus::failed && check.name == info_of(*report.fault).found_by) return check.name;
  return report.caught() ? report.first_failure()->name : "";
}

std::string conclusion(const VerifyReport& report) {
  const CheckResult* failure = report.first_failure();
  if (report.fault && failure != nullptr)
    return fmt::format("The planted fault {} was caught by {}.", to_string(*report.fault), failure->name);
  if (report.fault)
    return fmt::format("The planted fault {} was NOT caught by any check: the checks are broken.",
                       to_string(*report.fault));
  if (failure != nullptr) return fmt::format("The layout is wrong: {} found a fault.", failure->name);
  if (report.first_unproven()) {
    std::string names;
    for (const CheckResult& check : report.checks)
      if (check.status == CheckStatus::no_codec) names += fmt::format("{}{}", names.empty() ? "" : " and ", check.name);
    return fmt::format(
        "Every element has its own address and nothing else was touched. Not proven: {} did not run, {}.", names,
        report.first_unproven()->message);
  }
  if (!report.passed()) return "Not every check could run, so nothing is shown.";
  return "Every element has its own address, every result is right, and nothing else was touched.";
}

void add_run(Document& document, const VerifyReport& report) {
  document.blocks.emplace_back(Heading{fmt::format("N = {}{}", report.attention_pack_size,
                                                   report.fault ? fmt::format(", planted: {}", to_string(*report.fault))
                                                                : std::string())});
  document.blocks.emplace_back(run_facts(report));
  document.blocks.emplace_back(checks_table(report.checks));
  Listing faults{{}, true};
  for (const CheckResult& check : report.checks)
    if (check.status == CheckStatus::failed) faults.items.push_back(fmt::format("{}: {}", check.name, check.message));
  if (!faults.items.empty()) document.blocks.emplace_back(std::move(faults));
  Listing declined;
  for (const CheckResult& check : report.checks)
    if (check.tolerance > 0 && !check.message.empty() &&
        (check.status == CheckStatus::passed || check.status == CheckStatus::declined))
      declined.items.push_back(fmt::format("{}: {}", check.name, check.message));
  if (!declined.items.empty()) document.blocks.emplace_back(std::move(declined));
  document.blocks.emplace_back(Paragraph{conclusion(report)});
}

Table catalogue_table(std::span<const VerifyReport> reports) {
  return table_of<VerifyReport>({{{"attention_pack_size", "N"}, &VerifyReport::attention_pack_size},
                                 {{"fault", "planted"}, &VerifyReport::fault},
                                 {{"result", "result"}, planted_result<VerifyReport>},
                                 {{"check", "by"}, [](const auto& run) { return caught_by(run); }}},
                                reports);
}

ordered_json run_json(const VerifyReport& report) {
  ordered_json json;
  json["attention_pack_size"] = report.attention_pack_size;
  json["fault"] = report.fault ? ordered_json(to_string(*report.fault)) : ordered_json(nullptr);
  if (!report.no_place.empty()) json["no_place"] = report.no_place;
  json["passed"] = report.passed();
  json["requests"] = ordered_json::array();
  for (const BatchRequest& request : report.requests)
    json["requests"].push_back(
        {{"tokens", request.tokens}, {"query_tokens", request.query_tokens}, {"is_decode", request.is_decode}});
  json["checks"] = ordered_json::array();
  for (const CheckResult& check : report.checks) json["checks"].push_back(check_json(check));
  json["reserved_bytes"] = report.reserved_bytes;
  json["resident_bytes"] = report.resident_bytes;
  json["peak_process_bytes"] = report.peak_process_bytes;
  json["max_element_offset"] = report.max_element_offset;
  json["seconds"] = report.seconds;
  return json;
}

}  // namespace

Document verify_report(const VerifiedPlans& plans, std::span<const VerifyReport> reports) {
  expects(!reports.empty(), "a report has at least one run");
  Document document;
  document.blocks.emplace_back(Heading{plans.model + ": verification on real tensors", 1});
  document.blocks.emplace_back(Facts{{{"rules", plans.rules}}});
  const bool all_planted = std::all_of(reports.begin(), reports.end(),
                                       [](const VerifyReport& report) { return report.fault.has_value(); });
  if (all_planted && reports.size() > 1)
    add_catalogue(document, reports, catalogue_table(reports), "in this plan", "any check",
                  [](const VerifyReport& report) {
                    return fmt::format("N = {}, {}", report.attention_pack_size, to_string(*report.fault));
                  });
  else
    for (const VerifyReport& report : reports) add_run(document, report);
  return document;
}

Table verify_table(std::span<const VerifyReport> reports) {
  auto fields = run_check_fields<VerifyReport>();
  fields.insert(fields.begin(), {{"attention_pack_size", "N"},
                                 [](const auto& row) { return row.run.attention_pack_size; }});
  return run_checks_table(fields, reports);
}

std::string render_verify(const VerifiedPlans& plans, std::span<const VerifyReport> reports, Format format,
                          const Style& style) {
  if (format == Format::csv) return render_csv(verify_table(reports));
  if (format != Format::json) return render_people(verify_report(plans, reports), format, style);
  ordered_json json;
  json["schema"] = verify_schema_id;
  json["model"] = plans.model;
  json["rules"] = plans.rules;
  if (const auto [planted, caught] = count_caught(reports); planted > 0) {
    json["planted"] = planted;
    json["caught"] = caught;
  }
  json["runs"] = ordered_json::array();
  for (const VerifyReport& report : reports) json["runs"].push_back(run_json(report));
  return json_text(json);
}

}  // namespace hybridkv
