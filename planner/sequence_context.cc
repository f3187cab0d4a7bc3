#include "planner/sequence_context.h"

#include <algorithm>

#include "base/checked.h"
#include "planner/tensor_pool_rules.h"
#include "planner/row_settings.h"

namespace hybridkv {

namespace {

bool is_one_of(const ModelSpec& model, std::span<const std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(),
                     [&](std::string_view begin) { return model.name.starts_with(begin); });
}

}  // namespace

std::int64_t SequenceContext::window_cells(std::int64_t window_tokens) const {
  const Checked seen = Checked(window_tokens) * (unified ? sequences : 1) + step_tokens;
  return Checked(round_up(std::min<std::int64_t>(slot_cells, seen), cell_unit)) * streams();
}

bool shares_cells(const EngineSpec& engine) {
  // Where the number of slots is left to it the server sets both, whatever was said of cells.
  return !engine.max_running_requests || engine.own.find(row_key::kv_unified).value_or(false);
}

SequenceContext context_of(const EngineSpec& engine, std::int64_t asked_cells) {
  SequenceContext context{.sequences = sequences_of(engine), .unified = shares_cells(engine)};
  context.slot_cells = round_up(asked_cells, cell_unit);
  if (!context.unified)
    context.slot_cells = round_up(std::max<std::int64_t>(1, context.slot_cells / context.sequences), cell_unit);
  context.cells = Checked(context.slot_cells) * context.streams();
  context.batch_tokens = std::min(asked_cells, engine.own[row_key::batch_size]);
  context.step_tokens = std::min(context.batch_tokens, engine.own[row_key::ubatch_size]);
  return context;
}

std::int64_t rows_for_drafts(const ModelSpec& model, const EngineSpec& engine) {
  if (engine.own[row_key::spec_type] > Drafter::dspark) return 0;
  return is_one_of(model, engine.rules->without_rows_for_drafts) ? 0 : engine.speculative_tokens;
}

bool may_end_where_split(const ModelSpec& model, const EngineSpec& engine) {
  const std::int64_t parts = sequences_of(engine);
  return !shares_cells(engine) && (parts == 3 || parts == 5 || parts == 6) &&
         is_one_of(model, engine.rules->ends_where_split);
}

}  // namespace hybridkv
