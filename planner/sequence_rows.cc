#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bisect.h"
#include "base/checked.h"
#include "planner/id_count.h"
#include "planner/page_sizes.h"
#include "planner/row_settings.h"
#include "planner/sequence_context.h"
#include "planner/sequence_decisions.h"
#include "planner/strategies.h"
#include "planner/tensor_groups.h"
#include "planner/tensor_pool_rules.h"

namespace hybridkv {

namespace {

/// The window that a spec's cells are for; 0: they hold every token.
std::int64_t kept_window(const SpecPlan& spec, const EngineSpec& engine) {
  return spec.attention && !engine.own[row_key::swa_full] ? spec.attention->window_tokens : 0;
}

/// Ids of an arena in such a context: rows, or cells of the layers whose K and V lie there.
std::int64_t ids_in(const Arrangement& arrangement, std::size_t arena, const SequenceContext& context,
                    const ArrangeInputs& inputs) {
  for (const GroupPlan& group : arrangement.groups) {
    if (group.arena.index() != arena) continue;
    const SpecPlan& spec = arrangement.spec_of(group);
    if (spec.state) return Checked(context.sequences) * (1 + rows_for_drafts(inputs.model, inputs.engine));
    if (const std::int64_t window = kept_window(spec, inputs.engine); window > 0) return context.window_cells(window);
  }
  return context.cells;
}

std::int64_t bytes_in(const Arrangement& arrangement, const SequenceContext& context, const ArrangeInputs& inputs) {
  Checked bytes = 0;
  for (std::size_t arena = 0; arena < arrangement.arenas.size(); ++arena)
    bytes += Checked(ids_in(arrangement, arena, context, inputs)) * arrangement.arenas[arena].bytes_per_id;
  return bytes;
}

/// As set, padded; else the largest that the memory holds beside the rows.
SequenceContext choose_context(const Arrangement& arrangement, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const auto fits = [&](const SequenceContext& context) {
    return bytes_in(arrangement, context, inputs) <= engine.memory_bytes;
  };
  if (engine.num_blocks) {
    SequenceContext context = context_of(engine, *engine.num_blocks);
    context.cells = *engine.num_blocks;
    context.slot_cells = std::max<std::int64_t>(1, context.cells / context.streams());
    return context;
  }
  if (const auto asked = engine.own.find(row_key::ctx_size)) {
    const SequenceContext context = context_of(engine, *asked);
    if (!fits(context))
      throw SpecError("engine.ctx_size",
                      fmt::format("{} cells and the rows of all sequences take {} bytes, the memory has {}; ask for "
                                  "fewer, or give more memory", context.cells, bytes_in(arrangement, context, inputs),
                                  engine.memory_bytes));
    return context;
  }
  const std::int64_t unit = Checked(cell_unit) * (shares_cells(engine) ? 1 : sequences_of(engine));
  const SequenceContext smallest = context_of(engine, unit);
  if (!fits(smallest))
    throw SpecError("engine.memory",
                    fmt::format("{} bytes are too few: the rows of all sequences and {} cells take {}; give more "
                                "memory, or a smaller engine.max_running_requests",
                                engine.memory_bytes, smallest.cells, bytes_in(arrangement, smallest, inputs)));
  const std::int64_t most = largest_tokens / unit;
  const std::int64_t units =
      last_that(1, most, [&](std::int64_t number) { return fits(context_of(engine, number * unit)); });
  return context_of(engine, units * unit);
}

CellBytes cells_of_layers(const SpecPlan& spec, std::int64_t layers) {
  const bool latent = is_latent(spec.attention->kind);
  return {Checked(layers) * (latent ? 1 : 2), Checked(layers) * spec.bytes_per_token};
}

void add_cells(CellBytes& sum, const CellBytes& more) {
  sum.tensors += more.tensors;
  sum.per_token = Checked(sum.per_token) + more.per_token;
}

/// MTP layers are those of a drafter's context, behind the layers of the model.
SequenceBytes bytes_of_sequence(const Arrangement& arrangement, const SequenceContext& context,
                                const ArrangeInputs& inputs) {
  SequenceBytes bytes{.streams = context.streams()};
  const auto& many = inputs.engine.rules->many_positions;
  if (std::any_of(many.begin(), many.end(), [&](auto begin) { return inputs.model.name.starts_with(begin); }))
    bytes.position_bytes *= 2;
  const auto of_model = static_cast<std::int64_t>(inputs.model.layers.size());
  for (const SpecPlan& spec : arrangement.specs) {
    const auto layers = static_cast<std::int64_t>(spec.layers.size());
    if (spec.state) {
      bytes.state_layers += layers;
      bytes.row_bytes = Checked(bytes.row_bytes) + Checked(layers) * spec.state->bytes;
      continue;
    }
    const std::int64_t drafts = std::count_if(spec.layers.begin(), spec.layers.end(),
                                              [&](std::int64_t layer) { return layer >= of_model; });
    if (drafts > 0) {
      if (!bytes.draft) bytes.draft.emplace();
      add_cells(*bytes.draft, cells_of_layers(spec, drafts));
    }
    const bool windowed = spec.attention->window_tokens > 0;
    if (windowed) {
      if (!bytes.window) bytes.window.emplace();
      bytes.window_tokens = spec.attention->window_tokens;
    }
    add_cells(windowed ? *bytes.window : bytes.tokens, cells_of_layers(spec, layers - drafts));
  }
  return bytes;
}

SequenceRows rows_of(const Arrangement& arrangement, const SequenceContext& context, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const bool caches = engine.cache_mode != CacheMode::none;
  const std::int64_t saved = caches ? engine.own[row_key::cache_ram] : 0;
  SequenceRows rows{.sequences = context.sequences,
                    .rows_per_sequence = Checked(1) + rows_for_drafts(inputs.model, engine),
                    .unified = context.unified,
                    .cells = context.cells,
                    .slot_cells = context.slot_cells,
                    .batch_tokens = context.batch_tokens,
                    .step_tokens = context.step_tokens,
                    .checkpoints = caches ? engine.own[row_key::ctx_checkpoints] : 0,
                    .checkpoint_step_tokens = engine.own[row_key::checkpoint_min_step],
                    .saved_bytes = saved < 0 ? -1 : saved << SequenceRows::mib_bits,
                    .saves_idle = engine.own[row_key::cache_idle_slots],
                    .least_similarity_percent = engine.own[row_key::slot_prompt_similarity_percent],
                    .may_end = may_end_where_split(inputs.model, engine),
                    .bytes = bytes_of_sequence(arrangement, context, inputs)};
  for (const SpecPlan& spec : arrangement.specs)
    rows.window_tokens = std::max(rows.window_tokens, kept_window(spec, engine));
  rows.checkpoint_bytes = rows.bytes.checkpoint(rows.slot_cells);
  return rows;
}

/// Layers of one window share an arena, those without one another.
void add_arenas(Arrangement& arrangement, const EngineSpec& engine) {
  const auto add_specs = [&](const char* name, auto belongs) {
    bool is_new = true;
    for (const SpecPlan& spec : arrangement.specs) {
      if (!belongs(spec)) continue;
      if (std::exchange(is_new, false)) arrangement.arenas.push_back({name, 0, 0, false});
      add_tensor_groups(arrangement, spec);
    }
  };
  add_specs("cells", [&](const SpecPlan& spec) { return spec.attention && kept_window(spec, engine) == 0; });
  add_specs("cells of windows", [&](const SpecPlan& spec) { return kept_window(spec, engine) > 0; });
  add_specs("rows", [](const SpecPlan& spec) { return spec.state.has_value(); });
}

}  // namespace

void arrange_sequence_rows(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  arrangement.specs =
      size_own_pages(std::move(specs), tensor_pool_block_sizes(engine, inputs.log), engine, inputs.limits, inputs.log);
  add_arenas(arrangement, engine);
  const SequenceContext context = choose_context(arrangement, inputs);
  arrangement.rows = rows_of(arrangement, context, inputs);
  for (std::size_t arena = 0; arena < arrangement.arenas.size(); ++arena) {
    ArenaPlan& of = arrangement.arenas[arena];
    of.num_ids = engine.num_blocks.value_or(ids_in(arrangement, arena, context, inputs));
    require_addressable(of.num_ids, of.bytes_per_id, "ids");
  }
  derive_sequences(arrangement, engine, inputs.log);
  place_apart(arrangement);
  derive_own_pages(arrangement, inputs.log);
}

}  // namespace hybridkv
