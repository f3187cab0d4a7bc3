#include "search/candidate_choice.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hybridkv {

void sort_candidates(std::vector<Candidate>& candidates) {
  const auto key = [](const Candidate& candidate) {
    return std::tuple(candidate.settings_changed, candidate.layout, candidate.match_unit_tokens.has_value(),
                      -candidate.match_unit_tokens.value_or(0), candidate.retention_tokens.has_value(),
                      candidate.retention_tokens.value_or(0));
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

void drop_unserving(std::vector<Candidate>& candidates) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& candidate : candidates)
    if (eligible(candidate)) fewest = std::min(fewest, candidate.unserved_requests);
  for (Candidate& candidate : candidates)
    if (candidate.unserved_requests > fewest) candidate.meets_limits = false;
}

}  // namespace hybridkv
