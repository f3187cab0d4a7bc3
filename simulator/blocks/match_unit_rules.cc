#include "simulator/blocks/match_unit_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/geometry_limits.h"
#include "simulator/blocks/match_unit_steps.h"
#include "simulator/blocks/modelled_rule.h"
#include "simulator/blocks/prefix_positions.h"

namespace hybridkv {

constinit const MatchUnitRules match_unit_rules;

namespace {

bool has_one_group(const CacheGeometry& geometry) { return geometry.attention_groups + geometry.state_groups == 1; }

/// What the geometry says of a drafter.
void check_drafter(const CacheGeometry& geometry) {
  const PrefixRules& rules = geometry.rules;
  if (!rules.attention_drafters.empty() && std::ssize(rules.attention_drafters) != geometry.attention_groups)
    throw SpecError("geometry.attention_drafters",
                    fmt::format("{} values for {} attention groups; give one for each, or none",
                                rules.attention_drafters.size(), geometry.attention_groups));
  if (rules.lookahead_tokens > 0 && geometry.speculative_tokens == 0)
    throw SpecError("geometry.lookahead_tokens",
                    "keys look ahead for a drafter, and there is none without speculative_tokens; take 0");
  if (rules.lookahead_tokens > 0 && geometry.drafter_drops_block)
    throw SpecError("geometry.lookahead_tokens",
                    "keys that look ahead are there so that no block is dropped for the drafter; take 0, or do not "
                    "let the drafter drop one");
}

bool finds_parts_of_chunks(const EngineRules& rules) {
  return rules.strategy == Strategy::packed_attention && !rules.match_units;
}

}  // namespace

void MatchUnitRules::validate(const CacheGeometry& geometry) const {
  const PrefixRules& rules = geometry.rules;
  const std::string_view name = rules.engine->name;
  if (geometry.shares_large_pages())
    throw SpecError("geometry.blocks_per_large_page", fmt::format("{} has no large pages; give none", name));
  check_range(rules.lookahead_tokens, 0, most_cache_tokens, "lookahead_tokens");
  check_range(rules.checkpoint_blocks, 0, 1, "checkpoint_blocks");
  check_range(rules.checkpoint_alignment, 1, most_cache_tokens, "checkpoint_alignment");
  check_range(rules.context_ranks, 1, most_cache_groups, "context_ranks");
  check_drafter(geometry);
  if (geometry.state_groups > 0 && geometry.mode == CacheMode::all)
    throw SpecError("geometry.mode", fmt::format("{} has no cache mode all; take align, or none", name));
  for (const KeyMask& mask : geometry.attention_masks)
    if (mask.kind == MaskKind::chunked_local)
      throw SpecError("geometry.attention_masks",
                      fmt::format("prefixes of chunked attention are not simulated with the rules of {}; take those of "
                                  "{}", name, releases_with(finds_parts_of_chunks)));
  const std::int64_t interval = geometry.retention_interval_tokens.value_or(0), segment = retention_step(geometry);
  if (interval % segment != 0)
    throw SpecError("geometry.retention_interval_tokens",
                    fmt::format("{} keeps states at multiples of {} tokens, where all groups' blocks end, and {} is "
                                "none; take {}, or 0", name, segment, interval, (interval / segment + 1) * segment));
}

std::vector<ModelledRule> MatchUnitRules::modelled(const CacheGeometry& geometry) const {
  std::vector<ModelledRule> rules;
  if (geometry.rules.lookahead_tokens > 1) rules.push_back(ModelledRule::several_drafter_modules);
  std::int64_t windows = 0, drafter_windows = 0;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group) {
    if (!geometry.is_windowed(group)) continue;
    ++windows;
    drafter_windows += geometry.drafter_drops_block && geometry.rules.drafts(static_cast<std::size_t>(group));
  }
  if (drafter_windows > 0) rules.push_back(ModelledRule::drafter_windows);
  if (windows > 1 || (windows > 0 && geometry.state_groups > 0)) rules.push_back(ModelledRule::several_windows);
  if (geometry.attention_groups - windows > 1) rules.push_back(ModelledRule::several_attention_groups);
  return rules;
}

bool MatchUnitRules::takes_match_unit(const CacheGeometry& geometry) const { return !has_one_group(geometry); }

bool MatchUnitRules::has_partial_tails(const CacheGeometry& geometry) const {
  const std::int64_t unit = geometry.match_unit();
  if (!geometry.aligns_chunks() || geometry.state_block() * geometry.rules.context_ranks <= unit) return false;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (geometry.is_windowed(group) && geometry.attention_block(group) != unit) return false;
  return true;
}

std::int64_t MatchUnitRules::hit_step(const CacheGeometry& geometry) const {
  return PrefixPositions(geometry).hit_step();
}

std::int64_t MatchUnitRules::lookahead_tokens(const CacheGeometry& geometry) const {
  return geometry.rules.lookahead_tokens;
}

std::int64_t MatchUnitRules::retention_step(const CacheGeometry& geometry) const { return geometry.common_multiple(); }

std::int64_t MatchUnitRules::dropped_tokens(const CacheGeometry& geometry, std::size_t attention_group) const {
  if (!geometry.drafter_drops_block || !geometry.rules.drafts(attention_group)) return 0;
  return std::min(hit_step(geometry), attention_row(geometry, attention_group));
}

std::int64_t MatchUnitRules::attention_row(const CacheGeometry& geometry, std::size_t attention_group) const {
  return geometry.attention_block(static_cast<std::int64_t>(attention_group));
}

bool MatchUnitRules::looks_beyond_limit(const CacheGeometry& geometry) const { return !has_one_group(geometry); }

std::int64_t MatchUnitRules::room_tokens(const CacheGeometry& geometry, std::int64_t tokens) const {
  // Room for a drafter's tokens too, up to the longest sequence.
  return std::min(tokens + geometry.speculative_tokens,
                  std::max(tokens, geometry.scheduler.max_model_len.value_or(INT64_MAX)));
}

std::vector<std::int64_t> MatchUnitRules::checkpoint_positions(const CacheGeometry& geometry,
                                                               std::int64_t prompt) const {
  const PrefixPositions positions(geometry);
  std::vector<std::int64_t> kept;
  // The token behind the prompt is known when the prompt is computed.
  const auto keep = [&](std::int64_t at) {
    if (at + geometry.rules.lookahead_tokens <= prompt + 1) kept.push_back(at);
  };
  for (ComputedChunk chunk{.prompt = prompt, .tokens = prompt}; chunk.start < prompt; chunk.start = chunk.end) {
    chunk.end = std::min(prompt, chunk.start + geometry.max_num_batched_tokens);
    chunk.end = cut_chunk(positions, chunk, geometry.max_num_batched_tokens);
    if (chunk.end == chunk.start) break;
    const std::int64_t exported = positions.exported_at(chunk);
    if (exported > 0 && positions.keeps_exported(exported, chunk)) keep(exported);
    const bool inside = exported == 0 && positions.keeps_inside(chunk.end, prompt, 0);
    if (inside || (chunk.end % positions.block() == 0 && positions.keeps_boundary(chunk.end, prompt, 0)))
      keep(chunk.end);
  }
  return kept;
}

std::optional<std::int64_t> MatchUnitRules::predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt,
                                                               std::int64_t) const {
  // A copy resumes at the last state or block that leaves it at least one token to compute.
  if (!geometry.caches_prefixes()) return 0;
  if (geometry.has_partial_tails() || geometry.has_unequal_blocks()) return std::nullopt;
  const PrefixPositions positions(geometry);
  if (!geometry.drafter_drops_block) return positions.last(prompt, positions.segment());
  // The look-up of a single group of attention ends before the last token of the prompt.
  return positions.last(has_one_group(geometry) ? prompt - 1 : prompt, positions.segment());
}

std::int64_t MatchUnitRules::short_copy_hit(const CacheGeometry& geometry, std::int64_t prompt) const {
  if (const auto hit = predicted_copy_hit(geometry, prompt, 2)) return *hit;
  const std::int64_t step = geometry.has_partial_tails() ? geometry.match_unit() : geometry.block_size_tokens;
  return geometry.caches_prefixes() ? (prompt - 1) / step * step : 0;
}

std::unique_ptr<BlockSteps> MatchUnitRules::start(CacheParts& cache) const {
  return std::make_unique<MatchUnitSteps>(cache);
}

}  // namespace hybridkv
