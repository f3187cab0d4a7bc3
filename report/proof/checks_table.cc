#include "report/proof/checks_table.h"

#include <fmt/format.h>

#include <string>

#include "report/field.h"

namespace hybridkv {

std::string_view status_text(CheckStatus status) {
  switch (status) {
    case CheckStatus::passed: return "passed";
    case CheckStatus::failed: return "FAILED";
    case CheckStatus::not_run:
    case CheckStatus::no_codec: return "not run";
    case CheckStatus::declined: return "declined";
  }
  return "?";
}

std::string_view status_word(CheckStatus status) {
  return status == CheckStatus::failed ? "failed" : status_text(status);
}

Table checks_table(std::span<const CheckResult> checks) {
  using Row = CheckResult;
  const auto ran = [](const Row& row) {
    return row.status == CheckStatus::passed || row.status == CheckStatus::failed;
  };
  const auto number = [=](double Row::*member, const char* if_exact) {
    return where(ran, [=](const Row& row) {
      return row.tolerance > 0 ? fmt::format("{:.1e}", row.*member) : std::string(if_exact);
    });
  };
  return table_of<Row>({{{"check", "check"}, &Row::name},
                        {{"status", "result"}, [](const Row& row) { return status_text(row.status); }},
                        {{"count", "looked at"}, where(ran, &Row::count)},
                        {{"unit"}, &Row::unit},
                        {{"max_error", "largest", "error", Align::right}, number(&Row::max_error, "exact")},
                        {{"tolerance", "allowed", "", Align::right}, number(&Row::tolerance, "")}},
                       checks);
}

nlohmann::ordered_json check_json(const CheckResult& check) {
  nlohmann::ordered_json json;
  json["name"] = check.name;
  json["status"] = status_word(check.status);
  json["count"] = check.count;
  json["unit"] = check.unit;
  json["max_error"] = check.max_error;
  json["tolerance"] = check.tolerance;
  json["message"] = check.message;
  return json;
}

}  // namespace hybridkv
