#include "ask/typed_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/source_map.h"

namespace hybridkv {

bool is_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values) {
  const Place* const place = scenario.places.find(path);
  return values.size() > 1 && place != nullptr && place->text->lines.empty();
}

void refuse_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values,
                       const char* command) {
  if (!is_typed_list(scenario, path, values)) return;
  throw error_at(*scenario.places.find(path),
                 fmt::format("{}: {} values where one is answered; give one of {}, or all to `hybridkv {}`", path,
                             values.size(), fmt::join(values, ", "), command));
}

}  // namespace hybridkv
