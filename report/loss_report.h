#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ask/simulate.h"
#include "report/document.h"
#include "report/table.h"

namespace hybridkv {

/// "state evicted": what people read of a cause.
std::string_view loss_title(LossCause cause);

/// From token by token down to what is found, a row a cause, a column a cache: tokens, and their share of the prompt
/// tokens of the requests that were taken in. Pre: losses were asked for.
Table loss_table(const SimulateAnswer& answer);

/// Which cause costs most, for each cache: "N = 5: 31.4 % of the prompt tokens are computed again …". No full stop.
std::string loss_sentence(const std::string& name, const LossStats& losses);

/// The same over the parts of the trace, in percent of their prompt tokens; causes that cost nothing have no column.
Table loss_series_table(const LossStats& losses);

/// "Where the tokens went": the table, a sentence a cache, and the course over a long trace of one cache.
void add_losses(Document& document, const SimulateAnswer& answer);

/// A row a cache with what it lost behind its other cells.
Table with_losses(const Table& caches, const std::vector<LossStats>& losses);

/// {"token_exact_tokens", "found_tokens", "lost": {cause: tokens}, "parts": [the same of each part, with "requests" and
/// "prompt_tokens"]}.
nlohmann::ordered_json losses_json(const LossStats& losses);

}  // namespace hybridkv
