#include "ask/conform/replay_record.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// Its cache replayed; null where no replay of it is known. `spec` has the caller of every record.
std::unique_ptr<CacheReplay> replay_of(const ConformCase& one, const CachePlan& plan, SimulationSpec spec) {
  try {
    spec.cache = replayed_cache(plan, one.model, one.engine, one.max_model_len);
    if (!std::holds_alternative<CacheGeometry>(spec.cache) && !std::holds_alternative<TreeCache>(spec.cache))
      return nullptr;
    return make_replay(spec);
  } catch (const SpecError&) {
    return nullptr;
  }
}

/// Replays the prompts; false where no replay of the cache is known.
bool replay_prompts(const ConformCase& one, const CachePlan& plan, std::function<void(const RecordView&)> on_record) {
  SimulationSpec spec;
  spec.on_record = [&](const RecordView& view, const ReuseLoss*) { on_record(view); };
  const std::unique_ptr<CacheReplay> replay = replay_of(one, plan, std::move(spec));
  if (!replay) return false;
  replay->consume(trace_of(one.prompts));
  replay->finish();
  return true;
}

std::optional<Json> block_record(const ConformCase& one, const CachePlan& plan) {
  std::vector<std::int64_t> hits(one.prompts.size(), -1), chunks(one.prompts.size(), -1);
  const bool is_known = replay_prompts(one, plan, [&](const RecordView& view) {
    const RequestRecord& record = *std::get<const RequestRecord*>(view);
    if (record.status != RequestStatus::ok) return;
    hits[static_cast<std::size_t>(record.index)] = record.hit_tokens;
    chunks[static_cast<std::size_t>(record.index)] = record.num_chunks;
  });
  if (!is_known) return std::nullopt;
  return Json{{"hits", hits}, {"chunks", chunks}};
}

/// Of a prompt for which no slot or page is left once it runs an engine dies, and says nothing more.
Json tree_record(const TreeRecord& record) {
  if (record.status == RequestStatus::stalled) return {{"dies", true}};
  return {{"dies", false},
          {"hit_tokens", record.status == RequestStatus::ok ? record.hit_tokens : -1},
          {"branch_tokens", record.branch_tokens},
          {"chunks", record.chunks},
          {"evicted_tokens", record.evicted_tokens},
          {"evicted_states", record.evicted_states},
          {"tree_tokens", record.tree_tokens},
          {"tree_states", record.tree_states},
          {"free_tokens", record.free_tokens},
          {"free_states", record.free_states}};
}

/// One prompt after the other, so that the first difference is that of the first prompt with one.
std::optional<Json> tree_records(const ConformCase& one, const CachePlan& plan) {
  Json records = Json::array();
  const bool is_known = replay_prompts(one, plan, [&](const RecordView& view) {
    const bool is_dead = !records.empty() && records.back()["dies"];
    if (!is_dead) records.push_back(tree_record(*std::get<const TreeRecord*>(view)));
  });
  return is_known ? std::optional(std::move(records)) : std::nullopt;
}

}  // namespace

std::optional<Json> replay_record(const ConformCase& one, const CachePlan& plan) {
  // Where the unit of matches is refused the engine does not begin, and what is not cached has nothing to compare.
  if (one.prompts.empty() || !plan.prefix.match_error.empty() || plan.cache_mode == CacheMode::none)
    return std::nullopt;
  return plan.tree_pools ? tree_records(one, plan) : block_record(one, plan);
}

}  // namespace hybridkv
