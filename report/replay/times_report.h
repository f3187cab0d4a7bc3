#pragma once

#include <nlohmann/json.hpp>

#include "ask/replay/simulate.h"
#include "report/document.h"

namespace hybridkv {

/// What a replay by a clock says of time, for people: a sentence, a table of times with and without a cache of
/// prefixes, where the steps spent their time, and how far to trust it. Pre: answer.timed.
void add_times(Document& document, const SimulateAnswer& answer);

/// The same of one cache, for programs. Pre: answer.timed.
nlohmann::ordered_json times_json(const SimulateAnswer& answer, const ReplayedCache& cache);

/// The columns of the table, for CSV.
Table with_times(Table table, const SimulateAnswer& answer);

}  // namespace hybridkv
