#include "ask/conform/replay_record.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "ask/conform/slot_record.h"
#include "base/error.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

namespace {

/// The cache that its prompts are replayed through; nothing where none is known.
std::optional<AnyCache> replayed_cache_of(const ConformCase& one, const CachePlan& plan) {
  try {
    return replayed_cache(plan, one.model, one.engine, one.max_model_len);
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

/// Blocks replayed; null where that is not known of them. `spec` has the caller of every record.
std::unique_ptr<CacheReplay> replay_of(CacheGeometry blocks, SimulationSpec spec) {
  try {
    spec.cache = std::move(blocks);
    return make_replay(spec);
  } catch (const SpecError&) {
    return nullptr;
  }
}

std::optional<nlohmann::ordered_json> block_record(const CacheGeometry& blocks,
                                                   const std::vector<ConformPrompt>& prompts) {
  std::vector<std::int64_t> hits(prompts.size(), -1), chunks(prompts.size(), -1);
  SimulationSpec spec;
  spec.on_record = [&](const RecordView& view, const ReuseLoss*) {
    const RequestRecord& record = *std::get<const RequestRecord*>(view);
    if (record.status != RequestStatus::ok) return;
    hits[static_cast<std::size_t>(record.index)] = record.hit_tokens;
    chunks[static_cast<std::size_t>(record.index)] = record.num_chunks;
  };
  const std::unique_ptr<CacheReplay> replay = replay_of(blocks, std::move(spec));
  if (!replay) return std::nullopt;
  replay->consume(trace_of(prompts));
  replay->finish();
  return nlohmann::ordered_json{{"hits", hits}, {"chunks", chunks}};
}

}  // namespace

std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan) {
  // Where the unit of matches is refused the engine does not begin, and what is not cached has nothing to compare.
  if (one.prompts.empty() || !plan.prefix.match_error.empty() || plan.cache_mode == CacheMode::none)
    return std::nullopt;
  const std::optional<AnyCache> cache = replayed_cache_of(one, plan);
  if (!cache) return std::nullopt;
  if (const auto* slots = std::get_if<SlotCache>(&*cache)) return slot_record(slots->settings, one.prompts);
  if (const auto* blocks = std::get_if<CacheGeometry>(&*cache)) return block_record(*blocks, one.prompts);
  return std::nullopt;
}

}  // namespace hybridkv
