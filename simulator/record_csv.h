#pragma once

#include <string>
#include <string_view>

#include "simulator/cache_replay.h"

namespace hybridkv {

/// First line of a CSV file of the requests of a cache, without line end.
std::string_view record_csv_header(const AnyCache& cache);
/// The line of one request, without line end. Pre: the record is of such a cache.
std::string record_csv_row(const AnyCache& cache, const RecordView& record);

}  // namespace hybridkv
