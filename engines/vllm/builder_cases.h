#pragma once

#include <vector>

#include "engines/emit.h"

namespace hybridkv {

/// Files that prove the views of a plan, below cases/, of a cache of six blocks:
///   views.npy (layers of all groups, 6) int64: layer, byte at which its block 0 begins, and the bytes from a block, a
///   head and a token to the next, of states 0; tokens of a kernel block, of states 0. case.json: its blocks.
///   SPEC/, of every spec of attention that keeps K and V as numbers, the layers of its first group: q.npy (R, Hq, dk),
///   k.npy (P, Hkv, dk) and v.npy (P, Hkv, dv) float32, all of which the cache's type holds as they are;
///   block_table.npy (R, 2), of blocks of the plan, an entry beyond a request's blocks names one of nobody;
///   lengths.npy (R), tokens; first_seen.npy (R), the first position that its last token sees; out.npy (layers, R, Hq,
///   dv) float32, of float64 attention; case.json: layers, tokens of a block, scale. K of position t of request r in
///   the i-th layer is row (t + 11 r + 5 i) mod P.
/// The same plan gives the same bytes. Pre: emit_vllm_builder takes the question.
std::vector<EmittedFile> vllm_builder_cases(const EmitQuestion& question);

}  // namespace hybridkv
