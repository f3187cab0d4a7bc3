#include "planner/sequence_decisions.h"

#include <fmt/format.h>

#include "planner/row_settings.h"

namespace hybridkv {

namespace {

/// Decisions about one arrangement.
class SequenceLog {
 public:
  SequenceLog(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log)
      : arrangement_(arrangement), rows_(*arrangement.rows), engine_(engine), log_(log) {}

  void add_context() const;
  void add_ids() const;
  void add_host() const;

 private:
  void add(const char* symbol, std::int64_t value, const char* unit, const char* rule, std::vector<Term> inputs,
           RuleOf of) const {
    log_.add([&] { return Decision{{symbol, value, unit}, rule, std::move(inputs), log_.cite(of)}; });
  }

  const Arrangement& arrangement_;
  const SequenceRows& rows_;
  const EngineSpec& engine_;
  const DerivationLog& log_;
};

void SequenceLog::add_context() const {
  add("sequences", rows_.sequences, "", "as set (engine.max_running_requests), or 4", {}, RuleOf::cells);
  const std::int64_t drafts = rows_.rows_per_sequence - 1;
  add("rows for drafts", drafts, "rows",
      drafts == arrangement_.speculative_tokens
          ? "s: drafts that are rejected are taken back; no prompt goes on from these rows"
          : "0: no rows for this drafter, or of this model",
      drafts > 0 ? std::vector<Term>{{"s", drafts, "tokens"}} : std::vector<Term>{}, RuleOf::rows);
  add("rows of a sequence", rows_.rows_per_sequence, "rows", "rows = 1 + rows for drafts",
      {{"rows for drafts", drafts, "rows"}}, RuleOf::rows);
  add("cells of a sequence", rows_.slot_cells, "cells",
      engine_.num_blocks                        ? "as the user set engine.num_blocks"
      : engine_.own.find(row_key::ctx_size) ? "engine.ctx_size, shared out unless cells are shared, in whole 256"
                                                : "as many as the memory holds beside the rows, in whole 256",
      {{"sequences", rows_.sequences, ""}}, RuleOf::cells);
  add("cells", rows_.cells, "cells",
      rows_.unified ? "those of a sequence: all share them" : "cells = sequences * cells of a sequence",
      {{"sequences", rows_.sequences, ""}, {"cells of a sequence", rows_.slot_cells, "cells"}}, RuleOf::cells);
  add("tokens of a step", rows_.batch_tokens, "tokens", "engine.batch_size, at most the cells that were asked for", {},
      RuleOf::cells);
  add("tokens of a pass", rows_.step_tokens, "tokens", "engine.ubatch_size, at most those of a step",
      {{"tokens of a step", rows_.batch_tokens, "tokens"}}, RuleOf::cells);
  add("window of the cells", rows_.window_tokens, "tokens",
      rows_.window_tokens > 0 ? "as the model has it, without engine.swa_full" : "0: all cells keep every token", {},
      RuleOf::cells);
  add("least share of a prompt", rows_.least_similarity_percent, "%",
      "engine.slot_prompt_similarity_percent: of a prompt, that a slot holds to be taken for it", {},
      RuleOf::prefixes);
}

void SequenceLog::add_ids() const {
  for (const ArenaPlan& arena : arrangement_.arenas)
    log_.add([&] {
      if (engine_.num_blocks)
        return Decision{{"ids of " + arena.name, arena.num_ids, "ids"}, "as set by the user", {}, "engine.num_blocks"};
      if (arena.name == "rows")
        return Decision{{"ids of rows", arena.num_ids, "rows"}, "rows = sequences * rows of a sequence",
                        {{"sequences", rows_.sequences, ""},
                         {"rows of a sequence", rows_.rows_per_sequence, "rows"}}, log_.cite(RuleOf::rows)};
      if (arena.name == "cells")
        return Decision{{"ids of cells", arena.num_ids, "cells"}, "those of all sequences",
                        {{"cells", rows_.cells, "cells"}}, log_.cite(RuleOf::cells)};
      return Decision{{"ids of " + arena.name, arena.num_ids, "cells"},
                      rows_.unified ? "the windows of all sequences and a pass, in whole 256, at most all cells"
                                    : "the window of each sequence and a pass, in whole 256, at most its cells",
                      {{"window of the cells", rows_.window_tokens, "tokens"}, {"sequences", rows_.sequences, ""},
                       {"tokens of a pass", rows_.step_tokens, "tokens"},
                       {"cells of a sequence", rows_.slot_cells, "cells"}}, log_.cite(RuleOf::cells)};
    });
}

void SequenceLog::add_host() const {
  add("host checkpoints of a sequence", rows_.checkpoints, "",
      engine_.cache_mode == CacheMode::none ? "0: mode none keeps none" : "engine.ctx_checkpoints", {},
      RuleOf::host_checkpoints);
  add("step of host checkpoints", rows_.checkpoint_step_tokens, "tokens", "engine.checkpoint_min_step", {},
      RuleOf::host_checkpoints);
  add("bytes of a host checkpoint", rows_.checkpoint_bytes, "bytes",
      rows_.bytes.draft    ? "bytes = 28 + 24 * state layers + a row of every tensor, and K and V of a drafter's cells"
      : rows_.bytes.window ? "bytes = 28 + 24 * state layers + a row of every tensor, and the window of a sequence"
                           : "bytes = 28 + 24 * state layers + a row of every tensor",
      {{"state layers", rows_.bytes.state_layers, ""}, {"a row of every tensor", rows_.bytes.row_bytes, "bytes"}},
      RuleOf::host_checkpoints);
  add("host bytes of checkpoints", rows_.host_bytes(), "bytes",
      "bytes = sequences * checkpoints * bytes of one, when all are made",
      {{"sequences", rows_.sequences, ""}, {"checkpoints", rows_.checkpoints, ""},
       {"bytes of one", rows_.checkpoint_bytes, "bytes"}}, RuleOf::host_checkpoints);
  add("host bytes of saved prompts", rows_.saved_bytes, "bytes",
      engine_.cache_mode == CacheMode::none ? "0: mode none saves none"
                                            : "engine.cache_ram, in MiB; -1: no limit, but as many tokens as cells",
      {}, RuleOf::host_checkpoints);
}

}  // namespace

void derive_sequences(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log) {
  const SequenceLog sequences(arrangement, engine, log);
  sequences.add_context();
  sequences.add_ids();
  sequences.add_host();
}

}  // namespace hybridkv
