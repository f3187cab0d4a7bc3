#include "planner/sequence_warnings.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "planner/plan_facts.h"

namespace hybridkv {

namespace {

/// A sequence whose layers keep a window goes on only from a state more than that window back, where usual checkpoints
/// do not lie. What was generated since adds to how far back they are.
void warn_window_reuses_nothing(std::vector<Warning>& warnings, const CachePlan& plan) {
  const SequenceRows& rows = *plan.rows;
  if (rows.checkpoints == 0 || rows.checkpoint_before_end(rows.window_tokens)) return;
  const std::int64_t farthest = rows.farthest_checkpoint();
  warnings.push_back(
      {"window_reuses_nothing",
       fmt::format("a prompt that goes on where a slot ends finds nothing again unless {} or more were generated "
                   "there: {} needs a checkpoint a window of {} tokens back, and those of a prompt lie {} before its "
                   "end or nearer; set engine.swa_full, or an engine.ubatch_size above the window",
                   human_plural(rows.window_tokens - farthest + 1, "token"), plan.rules->title,
                   human_count(rows.window_tokens), human_plural(farthest, "token"))});
}

void warn_drafts_in_checkpoints(std::vector<Warning>& warnings, const CachePlan& plan) {
  const SequenceRows& rows = *plan.rows;
  if (rows.checkpoints == 0 || !rows.bytes.draft) return;
  warnings.push_back({"drafts_in_checkpoints",
                      fmt::format("a checkpoint carries all K and V of the drafter, {} bytes for each token before it, "
                                  "beside {} of states: behind a whole context it takes {} bytes of the host",
                                  human_count(rows.bytes.draft->per_token), human_count(rows.bytes.states()),
                                  human_count(rows.checkpoint_bytes))});
}

/// A fault of the engine, whatever the setting.
void warn_stale_checkpoint(std::vector<Warning>& warnings, const CachePlan& plan) {
  if (plan.rows->checkpoints == 0) return;
  warnings.push_back({"stale_checkpoint",
                      fmt::format("{} keeps a checkpoint that lies a single token past where a prompt goes on, and "
                                  "may restore it for another token, which makes an answer wrong: `hybridkv simulate` "
                                  "says how often a trace does; requests with cache_prompt false do not",
                                  plan.rules->title)});
}

/// Another one, of one model.
void warn_split_ends(std::vector<Warning>& warnings, const CachePlan& plan) {
  if (!plan.rows->may_end) return;
  warnings.push_back({"ends_where_split",
                      fmt::format("{} was seen to end while it starts with cells in {} parts for this model; set "
                                  "engine.kv_unified, or 2 or 4 slots", plan.rules->title, plan.rows->sequences)});
}

}  // namespace

void warn_of_sequences(std::vector<Warning>& warnings, const CachePlan& plan) {
  warn_window_reuses_nothing(warnings, plan);
  warn_drafts_in_checkpoints(warnings, plan);
  warn_stale_checkpoint(warnings, plan);
  warn_split_ends(warnings, plan);
}

}  // namespace hybridkv
