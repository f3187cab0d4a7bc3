#include "engines/vllm_0_32/replay.h"

#include "base/error.h"
#include "planner/engine_spec.h"

namespace hybridkv {

AnyCache cache_of_vllm_0_32(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine) {
  // A group is known as the drafter's by the last layer of the model, which only an MTP layer is.
  // Source: vLLM 0.32 _annotate_eagle_groups.
  if (engine.draft)
    throw SpecError("engine.draft", "what this release finds with a draft model is not known; take engine.mtp_layers, "
                                    "or leave it out");
  if (engine.mtp_layers > 1)
    throw SpecError("engine.mtp_layers", "what this release finds with several MTP layers is not known; take 1");
  return block_cache_of(plan, model, engine);
}

}  // namespace hybridkv
