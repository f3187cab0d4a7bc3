#include "report/plan/pool_groups_facts.h"

#include <fmt/format.h>

#include <vector>

#include "report/human.h"

namespace hybridkv {

namespace {

std::string end_text(std::int64_t offset) {
  return offset == 0 ? std::string("at its end") : fmt::format("{} before its end", human_plural(offset, "token"));
}

}  // namespace

std::pair<std::string, std::string> split_fact(const PoolGroups& groups) {
  if (groups.first_manager)
    return {"split", fmt::format("by the first manager: a state for each of {}, and what is left by tokens{}",
                                 human_plural(groups.max_requests, "request"),
                                 groups.points.interval_tokens > 0 ? ", each with its part of a snapshot" : "")};
  return {"split", fmt::format("in grains of {}, by {} of {}: {} and {} each; {} at least to start",
                               exact_bytes(groups.grain_bytes), human_plural(groups.max_requests, "request"),
                               human_plural(groups.typical_tokens, "token"),
                               human_plural(groups.typical_blocks, "block"),
                               human_plural(groups.typical_states, "state"), exact_bytes(groups.least_bytes))};
}

std::pair<std::string, std::string> group_host_fact(const GroupHost& host) {
  return {"host", fmt::format("{} and {} behind both, {} of a rank (sizes read, not run): what is evicted moves there, "
                              "and a hit brings it back",
                              human_plural(host.blocks, "block"), human_plural(host.states, "state"),
                              exact_bytes(host.bytes))};
}

std::string snapshots_text(const SnapshotPoints& points) {
  std::vector<std::string> places;
  for (const std::int64_t offset : points.from_start)
    places.push_back(fmt::format("{} after its start", human_plural(offset, "token")));
  for (const std::int64_t offset : points.from_end) places.push_back(end_text(offset));
  if (points.interval_tokens > 0)
    places.push_back(fmt::format("every {}", human_plural(points.interval_tokens, "token")));
  if (points.at_branches) places.push_back("where it parts from what is there");
  return fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace hybridkv
