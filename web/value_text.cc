#include "web/value_text.h"

#include "report/plan/explain_report.h"

namespace hybridkv {

std::string value_text(const ComparedValue& value, const std::string& unit) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return term_text({"", *whole, unit});
  if (const auto* real = std::get_if<double>(&value)) return term_text({"", *real, unit});
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr ? *word : "none";
}

}  // namespace hybridkv
