#include "search/shared_depths.h"

#include <algorithm>
#include <map>

namespace hybridkv {

SharedDepths shared_depths(const ReusePaths& paths, std::int64_t most_back) {
  SharedDepths shared;
  shared.found_back.resize(static_cast<std::size_t>(most_back + 1));
  std::map<std::int64_t, double> weights;
  for (std::int64_t request = 0; request < paths.num_requests(); ++request) {
    const auto stretches = paths.stretches(request);
    if (stretches.empty()) continue;
    const std::int64_t depth = std::min<std::int64_t>(stretches.back().end_unit, paths.most_units(request));
    if (depth == 0) continue;
    ++weights[depth];
    ++shared.requests;
    shared.units += depth;
    const std::int64_t last = paths.prompt_tokens(stretches.back().last) / paths.unit_tokens();
    for (std::int64_t back = 0; back <= most_back; ++back)
      if (const std::int64_t at = last - back; at > 0 && at <= depth)
        shared.found_back[static_cast<std::size_t>(back)] += at;
  }
  for (const auto& [depth, weight] : weights) shared.depths.push_back({depth, weight});
  return shared;
}

}  // namespace hybridkv
