#include "ask/builder_offer.h"

#include <algorithm>

#include "ask/recommend.h"
#include "base/error.h"
#include "engines/engine.h"
#include "planner/plan.h"
#include "search/block_space.h"

namespace hybridkv {

namespace {

/// Does the plug-in make this plan?
bool makes(const Engine& engine, const RecommendSpec& spec, std::int64_t pack) {
  EngineSpec packed = spec.engine;
  packed.attention_pack_size = pack;
  try {
    const CachePlan plan = make_plan(spec.model, packed, spec.compared_limits(), std::nullopt, PlanDetail::numbers);
    engine.emit({plan, spec.model, packed, "recommend", EmitParts::module, {}});
    return true;
  } catch (const InputError&) {  // what has no plan, or no plug-in
    return false;
  }
}

}  // namespace

std::optional<BuilderOffer> builder_offer(RecommendSpec spec, const Recommendation& searched) {
  const Engine& engine = engine_of(*spec.engine.rules);
  if (engine.emit == nullptr || engine.rules->builder.empty()) return std::nullopt;
  const PlannedLayout& pick = searched.layout_of(searched.pick);
  const auto is_state = [](const SpecPlan& one) { return one.state.has_value(); };
  if (std::none_of(pick.plan.specs.begin(), pick.plan.specs.end(), is_state)) return std::nullopt;
  spec.engine.cache_mode = pick.mode();
  BuilderOffer offer;
  offer.builder = engine.rules->builder;
  const std::int64_t layers = packable_layers(spec.model, spec.engine);
  for (std::int64_t pack = 2; pack <= layers; ++pack)
    if (layers % pack == 0 && makes(engine, spec, pack)) offer.packs.push_back(pack);
  if (offer.packs.empty()) return std::nullopt;
  spec.space = searched.space;  // without any pack but 1
  spec.space.packs.insert(spec.space.packs.end(), offer.packs.begin(), offer.packs.end());
  spec.space.modes = {pick.mode()};
  spec.space.block_floors = {spec.engine.block_size_tokens};
  spec.space.retention_blocks.clear();
  if (spec.space.retentions.empty()) spec.space.retentions = {spec.default_retention};
  spec.on_progress = {};
  offer.result = recommend(spec);
  offer.evidence = evidence_of(offer.result, offer.picked());
  offer.is_better = offer.layout().pack() > 1 &&
                    !dominates(searched.candidates[searched.pick].objectives, offer.picked().objectives);
  return offer;
}

}  // namespace hybridkv
