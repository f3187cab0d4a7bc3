#pragma once

#include "simulator/blocks/cache_geometry.h"
#include "verify/forward/forward_case.h"

namespace hybridkv {

/// The cases that drive the cache step by step, without a scheduler, because each step must be just so.

/// One request that decodes with drafts; the manager hands out the blocks of 1 + s tokens a step.
void run_drafts(const ForwardSetting& setting, ForwardResult& result);

/// A request decodes past its windows and chunks. The pool is so small that a short prompt fits beside it just when the
/// last of them has given back its first block, takes every free block and writes it over in that same step; once with
/// a pool for which that block would have to go back one token early.
void run_window(const ForwardSetting& setting, ForwardResult& result);

/// Does the long request of run_window alone fit those pools? Not where its chunks hold more just before they end than
/// the short prompt takes beside it afterwards. Pre: first_give_back(geometry) > 0.
bool fits_window_pools(const CacheGeometry& geometry);

}  // namespace hybridkv
