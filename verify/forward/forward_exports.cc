#include "verify/forward/forward_exports.h"

#include <fmt/format.h>

#include "verify/forward/forward_geometry.h"
#include "verify/forward/forward_run.h"

namespace hybridkv {

namespace {

/// Tokens of a prompt behind its last kept state: no key at that state looks further ahead.
constexpr std::int64_t rest_tokens = 5;

/// A prompt that exports its last state at `exported` tokens in one chunk, and another that goes on from there.
void run_last_export(const ForwardSetting& setting, CacheGeometry geometry, std::int64_t exported,
                     ForwardResult& result) {
  geometry.max_num_batched_tokens = exported + geometry.block_size_tokens;
  ForwardRun run(setting, geometry, result);
  const std::int64_t first = run.submit({{1, exported + rest_tokens}}, 1);
  run.run_all();
  const std::int64_t second = run.submit({{1, exported}, {2, 9}}, 2);
  run.run_all();
  run.count();
  run.expect(run.record(first).num_chunks == 1, "the first prompt was cut for its last state");
  run.expect(run.engine().work().exported_states > 0, "no chunk exported a state");
  run.expect(run.record(second).hit_tokens == exported, "the exported state was not found");
}

/// Where all states stay, a chunk inside a prompt exports the one before its end: both are hit.
void run_export_on_the_way(const ForwardSetting& setting, CacheGeometry geometry, ForwardResult& result) {
  const std::int64_t block = geometry.block_size_tokens;
  geometry.max_num_batched_tokens = 3 * block;
  geometry.retention_interval_tokens.reset();
  ForwardRun run(setting, geometry, result);
  const std::int64_t first = run.submit({{1, 4 * block + rest_tokens}}, 1);
  run.run_all();
  const std::int64_t inside = run.submit({{1, 2 * block}, {2, 9}}, 2);
  run.run_all();
  const std::int64_t behind = run.submit({{1, 3 * block}, {3, 9}}, 2);
  run.run_all();
  run.count();
  run.expect(run.record(first).num_chunks > 1, "the first prompt ran in one chunk");
  run.expect(run.engine().work().exported_states > 0, "no chunk exported a state");
  run.expect(run.record(inside).hit_tokens == 2 * block, "the state exported on the way was not found");
  run.expect(run.record(behind).hit_tokens == 3 * block, "the state at the end of the chunk was not found");
}

void run_exported(const ForwardSetting& setting, ForwardResult& result) {
  const CacheGeometry geometry = forward_geometry(setting.plan);
  run_last_export(setting, geometry, 3 * geometry.block_size_tokens, result);
  // Where hits are fine such an export lies inside a block, and nothing keeps it.
  if (!geometry.has_partial_tails()) run_export_on_the_way(setting, geometry, result);
}

void run_fine_export(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const FineExport fine = find_fine_export(geometry).value();
  geometry.match_unit_tokens = fine.unit_tokens;
  run_last_export(setting, geometry, fine.exported_tokens, result);
}

/// Of two families of prompts one each runs alone; of the next two, which run at once, attention alone matches the
/// start: each leaves a state at that junction, and the last two go on from those.
void run_junction(const ForwardSetting& setting, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  geometry.max_num_batched_tokens = 8 * block;
  ForwardRun run(setting, geometry, result);
  for (const std::uint64_t family : {1, 2}) {
    run.submit({{family, 3 * block + rest_tokens}}, 1);
    run.run_all();
  }
  std::vector<std::int64_t> parting, hitting;
  for (const std::uint64_t family : {1, 2})
    parting.push_back(run.submit({{family, block + block / 2}, {2 + family, block + rest_tokens}}, 1));
  run.run_all();
  for (const std::uint64_t family : {1, 2}) {
    hitting.push_back(run.submit({{family, block + block / 2}, {4 + family, 9}}, 2));
    run.run_all();
  }
  run.count();
  for (const std::int64_t one : parting)
    run.expect(run.record(one).hit_tokens == 0 && run.record(one).uncached_common > 0,
               "no prompt parted where attention alone matched");
  for (const std::int64_t one : hitting) run.expect(run.record(one).hit_tokens == block, "no junction state was found");
}

/// The network stands for a drafter, whose row of a token depends on the tokens behind it: a prompt that parts right
/// behind a block must not take that block over, one that parts after what keys look ahead to does.
void run_lookahead_of(const ForwardSetting& setting, std::int64_t ahead, ForwardResult& result) {
  CacheGeometry geometry = forward_geometry(setting.plan);
  const std::int64_t block = geometry.block_size_tokens;
  const bool planted = setting.fault == ForwardFault::short_keys;
  geometry.rules.lookahead_tokens = planted ? 0 : ahead;
  ForwardRun run(setting, geometry, result, ahead);
  run.submit({{1, 2 * block + rest_tokens}}, 2);
  run.run_all();
  const std::int64_t parting = run.submit({{1, 2 * block}, {2, 9}}, 2);
  run.run_all();
  const std::int64_t following = run.submit({{1, 2 * block + ahead}, {3, 9}}, 2);
  run.run_all();
  run.count();
  if (planted) result.planted += run.record(parting).hit_tokens;
  run.expect(run.record(parting).hit_tokens < 2 * block, "a block was found though the token behind it differs");
  run.expect(run.record(following).hit_tokens == 2 * block, "no block was found behind which the same tokens follow");
}

void run_lookahead(const ForwardSetting& setting, ForwardResult& result) {
  run_lookahead_of(setting, 1, result);
  run_lookahead_of(setting, setting.plan.speculative_tokens, result);  // a drafter of several modules
}

}  // namespace

std::optional<FineExport> find_fine_export(CacheGeometry geometry) {
  const std::int64_t block = geometry.state_block(), common = geometry.common_block();
  if (geometry.rules.checkpoint_blocks == 0 || !geometry.aligns_chunks()) return std::nullopt;
  for (std::int64_t unit = common / 2; unit > rest_tokens; --unit) {
    if (common % unit != 0) continue;
    geometry.match_unit_tokens = unit;
    if (!geometry.has_partial_tails()) return std::nullopt;
    for (std::int64_t at = 2 * block + unit; at + rest_tokens < 3 * block; at += unit)
      if (at % geometry.checkpoint_alignment() == 0) return FineExport{unit, at};
  }
  return std::nullopt;
}

std::string why_none_parts(const CacheGeometry& geometry) {
  if (geometry.attention_groups == 0) return "without attention no look-up says where prompts part";
  if (!geometry.rules.blocks->retains_windows() || !geometry.retention_interval_tokens) return "";
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (!geometry.is_windowed(group)) return "";
  return "windows keep only what kept states need, so no look-up says where prompts part";
}

std::string why_no_export_case(ForwardCase forward_case, const CacheGeometry& geometry) {
  if (!geometry.caches_prefixes()) return std::string(geometry.why_no_prefixes());
  if (forward_case == ForwardCase::lookahead) return "";
  if (geometry.state_groups == 0) return "the model keeps no state";
  if (forward_case == ForwardCase::junction) return why_none_parts(geometry);
  if (geometry.rules.checkpoint_blocks == 0) return "not every scan of its states can export one inside a chunk";
  if (forward_case == ForwardCase::fine_export && !find_fine_export(geometry))
    return fmt::format("no state inside a block of {} tokens is exported at any match unit", geometry.state_block());
  return "";
}

void run_export_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result) {
  switch (forward_case) {
    case ForwardCase::exported: return run_exported(setting, result);
    case ForwardCase::fine_export: return run_fine_export(setting, result);
    case ForwardCase::junction: return run_junction(setting, result);
    case ForwardCase::lookahead: return run_lookahead(setting, result);
    default: throw std::logic_error("a case of exported states, junctions or keys");
  }
}

}  // namespace hybridkv
