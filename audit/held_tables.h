#pragma once

#include "audit/owned_cache.h"

namespace hybridkv {

/// Who has which block in which table: the events of requests, their tables and what they hold.
void apply(OwnedCache& cache, const RequestEvent& event);
void apply(OwnedCache& cache, const HitEvent& event);
void apply(OwnedCache& cache, const TableEvent& event);
void apply(OwnedCache& cache, const FreeEvent& event);
void apply(OwnedCache& cache, const EndEvent& event);
void apply(OwnedCache& cache, const PreemptEvent& event);

}  // namespace hybridkv
