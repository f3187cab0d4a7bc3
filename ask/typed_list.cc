#include "ask/typed_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/source_map.h"

namespace hybridkv {

void refuse_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values,
                       const char* command) {
  const Place* const place = scenario.places.find(path);
  const bool is_typed = place != nullptr && place->text->lines.empty();
  if (values.size() < 2 || !is_typed) return;
  throw error_at(*place, fmt::format("{}: {} values where one is answered; give one of {}, or all to `hybridkv {}`",
                                     path, values.size(), fmt::join(values, ", "), command));
}

}  // namespace hybridkv
