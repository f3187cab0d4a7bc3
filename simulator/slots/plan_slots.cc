#include "simulator/slots/plan_slots.h"

#include "base/error.h"

namespace hybridkv {

SlotSettings slot_settings_of(const CachePlan& plan) {
  expects(plan.rows.has_value(), "a plan with rows by sequence");
  return {.slots = plan.rows->sequences,
          .cells = plan.arenas.front().usable_ids(),
          .checkpoints = plan.rows->checkpoints,
          .checkpoint_step = plan.rows->checkpoint_step_tokens,
          .saved_bytes = 0};
}

}  // namespace hybridkv
