#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/id_count.h"
#include "planner/page_sizes.h"
#include "planner/strategies.h"
#include "planner/tensor_groups.h"
#include "planner/tensor_pool_rules.h"
#include "planner/tensor_pool_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t cell_unit = 256;  // a context is padded to a multiple of it

SequenceRows rows_of(const Arrangement& arrangement, const EngineSpec& engine) {
  SequenceRows rows;
  rows.sequences = sequences_of(engine);
  rows.rows_per_sequence = Checked(1) + engine.speculative_tokens;
  if (engine.cache_mode != CacheMode::none) rows.checkpoints = engine.own[row_key::ctx_checkpoints];
  rows.checkpoint_step_tokens = engine.own[row_key::checkpoint_min_step];
  for (const ArenaPlan& arena : arrangement.arenas)
    if (arena.name == "rows") rows.checkpoint_bytes = arena.bytes_per_id;
  return rows;
}

/// The cells that are left: whole units of the memory behind the rows.
std::int64_t cells_in(std::int64_t row_bytes, std::int64_t cell_bytes, const ArrangeInputs& inputs) {
  const std::int64_t memory = inputs.engine.memory_bytes;
  const std::int64_t cells = row_bytes < memory ? (memory - row_bytes) / cell_bytes / cell_unit * cell_unit : 0;
  if (cells == 0)
    throw SpecError("engine.memory",
                    fmt::format("{} bytes are too few: the rows of all sequences take {}, which leaves less than {} "
                                "cells of {} bytes; give more memory, or a smaller engine.max_running_requests",
                                memory, row_bytes, cell_unit, cell_bytes));
  inputs.log.add([&] {
    return Decision{{"ids of cells", cells, "cells"},
                    "cells = unit * floor((memory - rows * bytes of a row) / bytes of a cell / unit)",
                    {{"memory", memory, "bytes"}, {"rows * bytes of a row", row_bytes, "bytes"},
                     {"bytes of a cell", cell_bytes, "bytes"}, {"unit", cell_unit, "cells"}},
                    inputs.log.cite(RuleOf::cells)};
  });
  return cells;
}

void derive_rows(const SequenceRows& rows, const EngineSpec& engine, const DerivationLog& log) {
  log.add([&] {
    return Decision{{"sequences", rows.sequences, ""}, "as set, as --parallel does, or 4", {},
                    "engine.max_running_requests"};
  });
  log.add([&] {
    return Decision{{"rows of a sequence", rows.rows_per_sequence, "rows"},
                    "rows = 1 + s: so many tokens can be taken back", {{"s", engine.speculative_tokens, "tokens"}},
                    log.cite(RuleOf::rows)};
  });
  log.add([&] {
    return Decision{{"host checkpoints of a sequence", rows.checkpoints, ""},
                    engine.cache_mode == CacheMode::none ? "0: mode none keeps none" : "as set, or 32", {},
                    "engine.ctx_checkpoints"};
  });
  log.add([&] {
    return Decision{{"step of host checkpoints", rows.checkpoint_step_tokens, "tokens"}, "as set, or 8192", {},
                    "engine.checkpoint_min_step"};
  });
  log.add([&] {
    return Decision{{"bytes of a host checkpoint", rows.checkpoint_bytes, "bytes"},
                    "bytes = a row of every tensor and layer", {{"bytes of a row", rows.checkpoint_bytes, "bytes"}},
                    log.cite(RuleOf::host_checkpoints)};
  });
  log.add([&] {
    return Decision{{"host bytes of checkpoints", rows.host_bytes(), "bytes"},
                    "bytes = sequences * checkpoints * bytes of one, when all are made",
                    {{"sequences", rows.sequences, ""}, {"checkpoints", rows.checkpoints, ""},
                     {"bytes of one", rows.checkpoint_bytes, "bytes"}}, log.cite(RuleOf::host_checkpoints)};
  });
}

}  // namespace

void arrange_sequence_rows(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  arrangement.specs =
      size_own_pages(std::move(specs), tensor_pool_block_sizes(engine, inputs.log), engine, inputs.limits, inputs.log);
  for (const bool states : {false, true}) {
    arrangement.arenas.push_back({states ? "rows" : "cells", 0, 0, false});
    for (const SpecPlan& spec : arrangement.specs)
      if (spec.state.has_value() == states) add_tensor_groups(arrangement, spec);
  }
  arrangement.rows = rows_of(arrangement, engine);
  const SequenceRows& rows = *arrangement.rows;
  derive_rows(rows, engine, inputs.log);
  ArenaPlan &cells = arrangement.arenas[0], &of_states = arrangement.arenas[1];
  if (engine.num_blocks) {
    for (ArenaPlan& arena : arrangement.arenas) {
      require_addressable(*engine.num_blocks, arena.bytes_per_id, "ids");
      arena.num_ids = *engine.num_blocks;
      inputs.log.add([&] {
        return Decision{{"ids of " + arena.name, arena.num_ids, "ids"}, "as set by the user", {}, "engine.num_blocks"};
      });
    }
  } else {
    of_states.num_ids = Checked(rows.sequences) * rows.rows_per_sequence;
    inputs.log.add([&] {
      return Decision{{"ids of rows", of_states.num_ids, "rows"}, "rows = sequences * rows of a sequence",
                      {{"sequences", rows.sequences, ""}, {"rows of a sequence", rows.rows_per_sequence, "rows"}},
                      inputs.log.cite(RuleOf::rows)};
    });
    cells.num_ids = cells_in(Checked(of_states.num_ids) * of_states.bytes_per_id, cells.bytes_per_id, inputs);
  }
  place_apart(arrangement);
  derive_own_pages(arrangement, inputs.log);
}

}  // namespace hybridkv
