#pragma once

#include "planner/tensor_pools.h"
#include "report/json_archive.h"

namespace hybridkv {

template <class Archive, Is<CellBytes> T>
void fields(Archive& archive, T& cells) {
  archive.named("cell_bytes", "K and V of one token in a cache of cells.");
  archive("tensors", cells.tensors, "Of all its layers: a K and a V each, of a latent one.");
  archive("per_token", cells.per_token, "Bytes of all of them.");
}

template <class Archive, Is<SequenceBytes> T>
void fields(Archive& archive, T& bytes) {
  archive.named("sequence_bytes", "What is written of a sequence to the memory of the host.");
  archive("state_layers", bytes.state_layers, "Layers with a state.");
  archive("row_bytes", bytes.row_bytes, "One row of all states.");
  archive("streams", bytes.streams, {"Of the cells: one, or one a sequence.", 1});
  archive("position_bytes", bytes.position_bytes, "Of a token beside K and V.");
  archive("tokens", bytes.tokens, "Of the layers that see every token.");
  archive.unless_default("window", bytes.window, "Of those with a window.");
  archive("window_tokens", bytes.window_tokens, "Of that window; 0: there is none.");
  archive.unless_default("draft", bytes.draft, "Of a drafter's context.");
}

template <class Archive, Is<SequenceRows> T>
void fields(Archive& archive, T& rows) {
  archive.named("sequence_rows", "Rows by sequence, and checkpoints on the host; of strategy sequence_rows alone.");
  archive("sequences", rows.sequences, {"At once.", 1});
  archive("rows_per_sequence", rows.rows_per_sequence, {"1 + s, where the model has rows for drafts.", 1});
  archive("unified", rows.unified, "Do all sequences share the cells?");
  archive("cells", rows.cells, {"Of all sequences.", 1});
  archive("slot_cells", rows.slot_cells, {"That one may have, its context.", 1});
  archive("batch_tokens", rows.batch_tokens, {"Of a step.", 1});
  archive("step_tokens", rows.step_tokens, {"Of a pass over the layers.", 1});
  archive("window_tokens", rows.window_tokens, "Of layers that keep no more; 0: there are none.");
  archive("checkpoints", rows.checkpoints, "Of a sequence, at most.");
  archive("checkpoint_step_tokens", rows.checkpoint_step_tokens,
          "Once there are as many, older ones that lie nearer are dropped.");
  archive("checkpoint_bytes", rows.checkpoint_bytes, "Of one behind a whole context.");
  archive("saved_bytes", rows.saved_bytes, "Of prompts that are saved beside them; 0: none, -1: no limit.");
  archive("saves_idle", rows.saves_idle, "Is what idle slots hold saved when a request starts?");
  archive("least_similarity_percent", rows.least_similarity_percent,
          "Of a prompt, that a slot must hold to be taken for it.");
  archive("may_end", rows.may_end, "Was the engine seen to end with so many parts of the cells?");
  archive("bytes", rows.bytes, "Of what is copied to the host.");
  archive.derived("host_bytes", [&rows] { return rows.host_bytes(); }, "Of all, when they are made.");
}

}  // namespace hybridkv
