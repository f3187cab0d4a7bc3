#include "report/proof/checks_table.h"

#include <fmt/format.h>

#include <string>

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
  Table table({{"check", "check", "", Align::left},
               {"status", "result", "", Align::left},
               {"count", "looked at"},
               {"unit", "", "", Align::left},
               {"max_error", "largest", "error"},
               {"tolerance", "allowed"}});
  for (const CheckResult& check : checks) {
    const bool ran = check.status == CheckStatus::passed || check.status == CheckStatus::failed;
    const bool numeric = check.tolerance > 0 && ran;
    table.add_row({check.name, std::string(status_text(check.status)),
                   ran ? Cell(check.count) : Cell(std::monostate{}), check.unit,
                   numeric ? Cell(fmt::format("{:.1e}", check.max_error)) : Cell(std::string(ran ? "exact" : "")),
                   numeric ? Cell(fmt::format("{:.1e}", check.tolerance)) : Cell(std::monostate{})});
  }
  return table;
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
