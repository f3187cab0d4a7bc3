#include "report/replay/times_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/number_text.h"

namespace hybridkv {

std::string limits_text(const ServiceLimits& limits) {
  std::string text;
  if (limits.first_token < std::numeric_limits<double>::infinity())
    text += fmt::format("a first token within {}", human_seconds(limits.first_token));
  if (limits.output_token < std::numeric_limits<double>::infinity())
    text += fmt::format("{}each further {} within {}", text.empty() ? "" : " and ", text.empty() ? "token" : "one",
                        human_seconds(limits.output_token));
  return text;
}

std::string with_error(double seconds, double percent) {
  return fmt::format("{} ± {:.0f} %", human_seconds(seconds), percent);
}

std::string part_text(StepPart part) {
  std::string text(to_string(part));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace hybridkv
