#include "ask/conform/replay_record.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

namespace {

/// Its blocks replayed; null where no replay of them is known. `spec` has the caller of every record.
std::unique_ptr<CacheReplay> replay_of(const ConformCase& one, const CachePlan& plan, SimulationSpec spec) {
  try {
    spec.cache = replayed_cache(plan, one.model, one.engine, one.max_model_len);
    if (!std::holds_alternative<CacheGeometry>(spec.cache)) return nullptr;
    return make_replay(spec);
  } catch (const SpecError&) {
    return nullptr;
  }
}

}  // namespace

std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan) {
  // Where the unit of matches is refused the engine does not begin, and what is not cached has nothing to compare.
  if (one.prompts.empty() || !plan.prefix.match_error.empty() || plan.cache_mode == CacheMode::none)
    return std::nullopt;
  std::vector<std::int64_t> hits(one.prompts.size(), -1), chunks(one.prompts.size(), -1);
  SimulationSpec spec;
  spec.on_record = [&](const RecordView& view, const ReuseLoss*) {
    const RequestRecord& record = *std::get<const RequestRecord*>(view);
    if (record.status != RequestStatus::ok) return;
    hits[static_cast<std::size_t>(record.index)] = record.hit_tokens;
    chunks[static_cast<std::size_t>(record.index)] = record.num_chunks;
  };
  const std::unique_ptr<CacheReplay> replay = replay_of(one, plan, std::move(spec));
  if (!replay) return std::nullopt;
  replay->consume(trace_of(one.prompts));
  replay->finish();
  return nlohmann::ordered_json{{"hits", hits}, {"chunks", chunks}};
}

}  // namespace hybridkv
