#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "ask/plot/waterfall.h"
#include "report/document.h"
#include "report/table.h"

namespace hybridkv {

/// "state evicted": what people read of a cause.
std::string_view loss_title(LossCause cause);

/// From token by token down to what is found, a row a cause, a column a cache: tokens, and their share of the prompt
/// tokens of the requests that were taken in. Pre: a name a cache.
Table loss_table(std::span<const std::string> names, std::span<const LossStats> losses);

/// Which cause costs most, for each cache: "N = 5: 31.4 % of the prompt tokens are computed again …". No full stop.
std::string loss_sentence(const std::string& name, const LossStats& losses);

/// The same over the parts of the trace, in percent of their prompt tokens; causes that cost nothing have no column.
Table loss_series_table(const LossStats& losses);

/// "Where the tokens went": the table, a sentence a cache, and for one cache the course over time where that is wanted.
/// Nothing where no cache has losses.
void add_losses(Document& document, std::span<const std::string> names, std::span<const LossStats> losses,
                bool over_time);

/// A row a cache with what it lost behind its other cells; the same table where losses were not asked for.
Table with_losses(const Table& caches, std::span<const LossStats> losses);

/// {"token_exact_tokens", "found_tokens", "lost": {cause: tokens}, "parts": [the same of each part, with "requests" and
/// "prompt_tokens"]}.
nlohmann::ordered_json losses_json(const LossStats& losses);

}  // namespace hybridkv
