#pragma once

#include "audit/owned_cache.h"

namespace hybridkv {

/// What is copied: within the pool, to objects outside it and back.
void apply(OwnedCache& cache, const CopyEvent& event);
void apply(OwnedCache& cache, const ZeroEvent& event);
void apply(OwnedCache& cache, const StoreEvent& event);
void apply(OwnedCache& cache, const StoredEvent& event);
void apply(OwnedCache& cache, const LoadEvent& event);
void apply(OwnedCache& cache, const DropEvent& event);
void apply(OwnedCache& cache, const RegionEvent& event);

}  // namespace hybridkv
