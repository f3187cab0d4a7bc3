#include "planner/snapshot_prefix.h"

#include <algorithm>
#include <numeric>

namespace hybridkv {

namespace {

std::int64_t block_of(const Arrangement& arrangement) {
  for (const SpecPlan& spec : arrangement.specs)
    if (spec.attention) return spec.block_size_tokens;
  return 1;
}

/// What every hit is a multiple of: it ends at a snapshot, which is found wherever in a whole block it lies. Without
/// reuse of parts of a block the end of a prompt is found where it ends a block.
std::int64_t hit_unit(const Arrangement& arrangement) {
  const PoolGroups& groups = *arrangement.pool_groups;
  const SnapshotPoints& points = groups.points;
  const bool periodic_alone = points.from_start.empty() && points.from_end.empty() && !points.at_branches;
  if (periodic_alone && points.interval_tokens > 0) return points.interval_tokens;
  if (groups.partial_reuse) return 1;
  std::int64_t unit = std::gcd(block_of(arrangement), points.interval_tokens);
  for (const std::int64_t offset : points.from_start) unit = std::gcd(unit, offset);
  const bool lie_anywhere = std::any_of(points.from_end.begin(), points.from_end.end(),
                                        [](std::int64_t offset) { return offset > 0; });
  return lie_anywhere ? 1 : unit;
}

/// The first prompt leaves no snapshot before its last token where it is this long or shorter. Branches are taken by
/// prompts that part, which a copy does not.
std::int64_t copies_miss_up_to(const SnapshotPoints& points) {
  std::int64_t tokens = largest_tokens;
  if (points.interval_tokens > 0) tokens = points.interval_tokens;
  for (const std::int64_t offset : points.from_start) tokens = std::min(tokens, offset);
  for (const std::int64_t offset : points.from_end)
    if (offset > 0) tokens = std::min(tokens, offset);
  return tokens;
}

}  // namespace

PrefixPlan prefix_of_snapshots(const Arrangement& arrangement, const DerivationLog& log) {
  const PoolGroups& groups = *arrangement.pool_groups;
  PrefixPlan prefix;
  prefix.cacheable = groups.points.any();
  prefix.match_unit_tokens = prefix.cacheable ? hit_unit(arrangement) : 1;
  log.add([&] {
    return Decision{{"match unit", prefix.match_unit_tokens, "tokens"},
                    prefix.match_unit_tokens == 1 ? "1: a snapshot is found exactly where it was taken"
                                                  : "what all snapshots that are found lie at multiples of",
                    {}, log.cite(RuleOf::prefixes)};
  });
  if (prefix.cacheable) {
    prefix.min_cacheable_prefix_tokens = prefix.match_unit_tokens;
    prefix.duplicate_misses_up_to_tokens = copies_miss_up_to(groups.points);
    log.add([&] {
      return Decision{{"smallest prefix that can hit", *prefix.min_cacheable_prefix_tokens, "tokens"},
                      "match unit: one of them", {{"match unit", prefix.match_unit_tokens, "tokens"}},
                      log.cite(RuleOf::prefixes)};
    });
  }
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    !prefix.cacheable ? "0 stands for none: no snapshot is ever taken"
                    : prefix.duplicate_misses_up_to_tokens == largest_tokens
                        ? "the largest length: the only snapshot lies at the end, past what a copy may match"
                        : "the smallest of interval and offsets: from there on a snapshot lies before the last token",
                    {}, log.cite(RuleOf::prefixes)};
  });
  return prefix;
}

}  // namespace hybridkv
