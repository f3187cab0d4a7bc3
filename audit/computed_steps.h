#pragma once

#include "audit/owned_cache.h"

namespace hybridkv {

/// What runs read and write. Of a step all states are read first, then all K and V are written, so that a request may
/// find what another one computes in the same step, then K and V are read, and last the states are written.
void apply(OwnedCache& cache, const StepEvent& event);
void apply(OwnedCache& cache, const ComputeEvent& event);
void apply(OwnedCache& cache, const AcceptEvent& event);
void apply(OwnedCache& cache, const KeysEvent& event);

}  // namespace hybridkv
