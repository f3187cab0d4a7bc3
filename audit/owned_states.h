#pragma once

#include "audit/owned_cache.h"

namespace hybridkv {

/// Recurrent states of a request, in the blocks of one group of states.

/// From which block a run reads and to which blocks it writes its states: as the run says, else by the group's rule.
RecordedStateUse states_of(const OwnedCache& cache, const OwningRequest& request, std::int64_t group,
                           const RecordedRun& run);
/// A run reads the state behind its start. Raises what is not the request's own.
void read_state(OwnedCache& cache, OwningRequest& request, const RecordedStateUse& use, const RecordedRun& run);
/// A run writes its states, and remembers the columns.
void write_states(OwnedCache& cache, OwningRequest& request, const RecordedStateUse& use, const RecordedRun& run);
/// Of the last run only the tokens up to `end` count; states behind them are those of rejected drafts.
void reject_states(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t end);
/// The first `tokens` tokens have a key from now on.
void name_states(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t tokens);

}  // namespace hybridkv
