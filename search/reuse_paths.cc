#include "search/reuse_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

namespace {

/// About 1.5 GB of what is kept of them.
constexpr std::size_t most_units_kept = 30'000'000;

}  // namespace

ReusePaths::ReusePaths(std::int64_t unit_tokens, std::optional<std::int64_t> max_model_len)
    : unit_tokens_(unit_tokens), max_model_len_(max_model_len) {
  expects(unit_tokens >= 1, "a unit has a token");
}

std::span<const ReuseStretch> ReusePaths::stretches(std::int64_t request) const {
  const auto at = static_cast<std::size_t>(request);
  const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::span(stretches_).subspan(begin, ends_[at] - begin);
}

void ReusePaths::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    if (refused_for_length(request.input_length, max_model_len_)) continue;
    const auto number = static_cast<std::int32_t>(prompt_tokens_.size());
    prefix_keys(batch.prompt(request), unit_tokens_, keys_);
    if (last_.size() + keys_.size() > most_units_kept)
      throw InputError(fmt::format("the trace has more than {} different units of {} tokens; a bound over them takes "
                                   "more memory than is sensible: take fewer requests, or a larger page or match unit",
                                   most_units_kept, unit_tokens_));
    bool known = true;  // by an earlier request, as everything before it
    for (std::size_t unit = 0; unit < keys_.size(); ++unit) {
      const auto [entry, is_new] = last_.try_emplace(keys_[unit], number);
      known = known && !is_new;
      if (!known) continue;
      const bool goes_on = std::ssize(stretches_) > static_cast<std::ptrdiff_t>(ends_.empty() ? 0 : ends_.back()) &&
                           stretches_.back().last == entry->second;
      if (!goes_on) stretches_.push_back({0, entry->second});
      stretches_.back().end_unit = static_cast<std::int32_t>(unit + 1);
      entry->second = number;
    }
    ends_.push_back(stretches_.size());
    prompt_tokens_.push_back(request.input_length);
    all_prompt_tokens_ = Checked(all_prompt_tokens_) + request.input_length;
  }
}

}  // namespace hybridkv
