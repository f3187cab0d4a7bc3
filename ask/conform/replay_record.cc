#include "ask/conform/replay_record.h"

#include <vector>

#include "base/error.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

namespace {

std::optional<AnyCache> replayed_in(const ConformCase& one, const CachePlan& plan) {
  try {
    return replayed_cache(plan, one.model, one.engine, one.max_model_len);
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<nlohmann::ordered_json> replay_record(const ConformCase& one, const CachePlan& plan) {
  // Where the unit of matches is refused the engine does not begin.
  if (one.prompts.empty() || !plan.prefix.match_error.empty()) return std::nullopt;
  const std::optional<AnyCache> cache = replayed_in(one, plan);
  if (!cache || !std::holds_alternative<CacheGeometry>(*cache)) return std::nullopt;
  std::vector<std::int64_t> hits(one.prompts.size(), -1), chunks(one.prompts.size(), -1);
  const std::unique_ptr<CacheReplay> replay = make_replay(
      {.cache = *cache, .on_record = [&](const RecordView& view, const ReuseLoss*) {
         const RequestRecord& record = *std::get<const RequestRecord*>(view);
         if (record.status != RequestStatus::ok) return;
         hits[static_cast<std::size_t>(record.index)] = record.hit_tokens;
         chunks[static_cast<std::size_t>(record.index)] = record.num_chunks;
       }});
  replay->consume(trace_of(one.prompts));
  replay->finish();
  return nlohmann::ordered_json{{"hits", hits}, {"chunks", chunks}};
}

}  // namespace hybridkv
