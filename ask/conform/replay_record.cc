#include "ask/conform/replay_record.h"

#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "ask/conform/slot_record.h"
#include "base/error.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// The cache that its prompts are replayed through; nothing where none is known.
std::optional<AnyCache> replayed_cache_of(const ConformCase& one, const CachePlan& plan) {
  try {
    return replayed_cache(plan, one.model, one.engine, one.max_model_len);
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

/// Replays the prompts one after the other; false where no replay of the cache is known.
bool replay_prompts(AnyCache cache, const std::vector<ConformPrompt>& prompts,
                    std::function<void(const RecordView&)> on_record) {
  SimulationSpec spec;
  spec.cache = std::move(cache);
  spec.on_record = [&](const RecordView& view, const ReuseLoss*) { on_record(view); };
  std::unique_ptr<CacheReplay> replay;
  try {
    replay = make_replay(spec);
  } catch (const SpecError&) {
    return false;
  }
  replay->consume(trace_of(prompts));
  replay->finish();
  return true;
}

std::optional<Json> block_record(const CacheGeometry& blocks, const std::vector<ConformPrompt>& prompts) {
  std::vector<std::int64_t> hits(prompts.size(), -1), chunks(prompts.size(), -1);
  const bool is_known = replay_prompts(blocks, prompts, [&](const RecordView& view) {
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
std::optional<Json> tree_records(const TreeCache& tree, const std::vector<ConformPrompt>& prompts) {
  Json records = Json::array();
  const bool is_known = replay_prompts(tree, prompts, [&](const RecordView& view) {
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
  const std::optional<AnyCache> cache = replayed_cache_of(one, plan);
  if (!cache) return std::nullopt;
  if (const auto* slots = std::get_if<SlotCache>(&*cache)) return slot_record(slots->settings, one.prompts);
  if (const auto* tree = std::get_if<TreeCache>(&*cache)) return tree_records(*tree, one.prompts);
  if (const auto* blocks = std::get_if<CacheGeometry>(&*cache)) return block_record(*blocks, one.prompts);
  return std::nullopt;
}

}  // namespace hybridkv
