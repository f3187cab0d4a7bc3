#pragma once

#include "verify/forward/forward_case.h"

namespace hybridkv {

/// The cases that drive the cache step by step, without a scheduler, because each step must be just so.

/// One request that decodes with drafts; the manager hands out the blocks of 1 + s tokens a step.
void run_drafts(const ForwardSetting& setting, ForwardResult& result);

/// A request decodes past its windows and chunks. The pool is so small that a short prompt fits beside it just when the
/// last of them has given back its first block, takes every free block and writes it over in that same step; once with
/// a pool for which that block would have to go back one token early.
void run_window(const ForwardSetting& setting, ForwardResult& result);

}  // namespace hybridkv
