#pragma once

#include "audit/owned_cache.h"

namespace hybridkv {

/// K and V of the tokens of a request, in the blocks of one group that is no group of states.

/// A run writes its tokens. Raises no_block where the table has none for them.
void write_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, const RecordedRun& run);
/// A run reads what its tokens see before `run.start`: all of it the first time after an admission, later what was not
/// checked yet or changed since. Raises what is not the request's own.
void read_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, const RecordedRun& run);
/// Of the last run only the tokens before `end` count; those behind it were rejected.
void reject_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t end);
/// The unit of that number has a key from now on.
void name_rows(OwnedCache& cache, OwningRequest& request, std::int64_t group, std::int64_t unit);
/// Only the first `tokens` tokens of the block were loaded.
void cut_rows(OwnedContent& content, std::int64_t unit_tokens, std::int64_t tokens);

}  // namespace hybridkv
