#include "planner/snapshot_prefix.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace hybridkv {

namespace {

/// Of the snapshots of a prompt of n tokens the last that lies at `tokens` or before; 0: none does.
std::int64_t last_snapshot(const SnapshotPoints& points, std::int64_t n, std::int64_t tokens) {
  std::int64_t last = points.interval_tokens > 0 ? tokens / points.interval_tokens * points.interval_tokens : 0;
  for (const std::int64_t offset : points.from_start)
    if (offset <= tokens) last = std::max(last, offset);
  for (const std::int64_t offset : points.from_end)
    if (n - offset <= tokens) last = std::max(last, n - offset);
  return last;
}

/// What every hit is a multiple of: it ends at a snapshot, which is found wherever in a block it lies.
std::int64_t hit_unit(const SnapshotPoints& points) {
  if (!points.from_end.empty() || points.at_branches) return 1;
  std::int64_t unit = points.interval_tokens;
  for (const std::int64_t offset : points.from_start) unit = std::gcd(unit, offset);
  return unit;
}

/// The first token at which a snapshot of every prompt that is long enough lies, whatever its end.
std::int64_t first_from_start(const SnapshotPoints& points) {
  std::int64_t first = points.interval_tokens > 0 ? points.interval_tokens : largest_tokens;
  for (const std::int64_t offset : points.from_start) first = std::min(first, offset);
  return first;
}

/// Where the first snapshot of any prompt lies. A short prompt ends or parts after one token.
std::int64_t first_snapshot(const SnapshotPoints& points) {
  return !points.from_end.empty() || points.at_branches ? 1 : first_from_start(points);
}

/// A copy's hit ends at a snapshot before its last token: the first one that may lie there is the smallest of interval
/// and offsets. Branches are taken by prompts that part, which a copy does not.
std::int64_t copies_miss_up_to(const SnapshotPoints& points) {
  std::int64_t tokens = first_from_start(points);
  for (const std::int64_t offset : points.from_end)
    if (offset > 0) tokens = std::min(tokens, offset);
  return tokens;
}

}  // namespace

std::int64_t block_tokens_of(const Arrangement& arrangement) {
  for (const SpecPlan& spec : arrangement.specs)
    if (spec.attention) return spec.block_size_tokens;
  return 1;
}

std::int64_t copied_snapshot_tokens(const PoolGroups& groups, std::int64_t block_tokens, std::int64_t prompt_tokens) {
  const SnapshotPoints& points = groups.points;
  const std::int64_t block = block_tokens, n = prompt_tokens;
  const std::int64_t end = last_snapshot(points, n, n);  // of what the tree has
  std::int64_t found = std::min(end, n - 1);
  const bool is_same_piece = end == n - 1;
  if (!groups.partial_reuse && !is_same_piece) found = found / block * block;
  const std::int64_t hit = last_snapshot(points, n, found);
  if (hit == 0) return 0;
  const std::int64_t before = (hit - 1) / block * block;  // tokens before its block
  const bool is_kept = last_snapshot(points, n, std::min(before + block, n)) == hit;
  return is_kept ? hit : last_snapshot(points, n, before);
}

bool snapshots_share_blocks(const SnapshotPoints& points, std::int64_t block_tokens) {
  const std::int64_t interval = points.interval_tokens, block = block_tokens;
  if (interval > 0 && interval < block) return true;
  std::vector<std::int64_t> starts = points.from_start, ends = points.from_end;
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  for (std::size_t i = 1; i < ends.size(); ++i)
    if (ends[i] > ends[i - 1] && ends[i] - ends[i - 1] < block) return true;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t before = (starts[i] - 1) / block * block;  // tokens before its block
    if (i > 0 && starts[i - 1] > before && starts[i - 1] < starts[i]) return true;
    if (interval == 0) continue;
    const std::int64_t periodic = (before + block) / interval - before / interval;
    if (periodic > (starts[i] % interval == 0 ? 1 : 0)) return true;
  }
  // Beside one that lies at the same token of every prompt one before the end comes to lie, unless it lies at the end
  // itself and the other one at that of a block.
  if (ends.empty() || (interval == 0 && starts.empty())) return false;
  const bool end_blocks = interval % block == 0 && std::all_of(starts.begin(), starts.end(), [&](std::int64_t offset) {
    return offset % block == 0;
  });
  return !end_blocks || ends.back() > 0;
}

PrefixPlan prefix_of_snapshots(const Arrangement& arrangement, const DerivationLog& log) {
  const PoolGroups& groups = *arrangement.pool_groups;
  PrefixPlan prefix;
  prefix.cacheable = groups.points.any();
  prefix.match_unit_tokens = prefix.cacheable ? hit_unit(groups.points) : 1;
  log.add([&] {
    return Decision{{"match unit", prefix.match_unit_tokens, "tokens"},
                    prefix.match_unit_tokens == 1 ? "1: a snapshot is found exactly where it was taken"
                                                  : "what all snapshots that are found lie at multiples of",
                    {}, log.cite(RuleOf::prefixes)};
  });
  if (prefix.cacheable) {
    prefix.min_cacheable_prefix_tokens = first_snapshot(groups.points);
    prefix.duplicate_misses_up_to_tokens = copies_miss_up_to(groups.points);
    log.add([&] {
      return Decision{{"smallest prefix that can hit", *prefix.min_cacheable_prefix_tokens, "tokens"},
                      "where the first snapshot of any prompt may lie", {}, log.cite(RuleOf::prefixes)};
    });
  }
  log.add([&] {
    return Decision{{"second copies hit nothing up to", prefix.duplicate_misses_up_to_tokens, "tokens"},
                    !prefix.cacheable ? "0 stands for none: no snapshot is ever taken"
                    : prefix.duplicate_misses_up_to_tokens == largest_tokens
                        ? "the largest length: the only snapshot lies at the end, past what a copy may match"
                        : "the smallest of interval and offsets: none lies before the last token of a shorter prompt",
                    {}, log.cite(RuleOf::prefixes)};
  });
  return prefix;
}

void derive_copy(const CachePlan& plan, const DerivationLog& log) {
  if (!plan.prefix.cacheable || plan.pool_groups->first_manager) return;
  log.add([&] {
    const std::int64_t tokens = plan.capacity.back().max_model_len, block = block_tokens_of(plan);
    return Decision{{"hit of a second copy", copied_snapshot_tokens(*plan.pool_groups, block, tokens), "tokens"},
                    "the last snapshot before the last token that its block keeps, in what matches",
                    {{"L", tokens, "tokens"}, {"block", block, "tokens"}}, log.cite(RuleOf::prefixes)};
  });
}

}  // namespace hybridkv
