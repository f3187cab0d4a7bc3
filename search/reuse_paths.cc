#include "search/reuse_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

namespace {

/// About 1.5 GB of blocks where a schedule is replayed that keeps them all.
constexpr std::int64_t most_units_of_trace = 30'000'000;

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

void ReusePaths::add_stretch(std::int32_t end_unit, std::int32_t last) {
  const bool goes_on = stretches_.size() > begin_of_last() && stretches_.back().last == last;
  if (!goes_on) stretches_.push_back({0, last});
  stretches_.back().end_unit = end_unit;
}

std::int64_t ReusePaths::pass(std::uint64_t chain, std::int32_t begin, const ReuseStretch& own) {
  const auto [entry, is_new] = last_.try_emplace(chain, own);
  if (is_new) return own.end_unit - begin;
  const ReuseStretch before = std::exchange(entry->second, own);
  std::int32_t known = std::min(before.end_unit, own.end_unit);
  add_stretch(known, before.last);
  if (before.end_unit > own.end_unit) {
    deeper_[chain].push_back(before);
    ++num_deeper_;
  }
  if (known == own.end_unit) return 0;
  const auto deeper = deeper_.find(chain);
  while (deeper != deeper_.end() && !deeper->second.empty() && known < own.end_unit) {
    const ReuseStretch further = deeper->second.back();
    known = std::min(further.end_unit, own.end_unit);
    add_stretch(known, further.last);
    if (further.end_unit > own.end_unit) break;
    deeper->second.pop_back();
    --num_deeper_;
  }
  return own.end_unit - known;
}

void ReusePaths::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    if (refused_for_length(request.input_length, max_model_len_)) continue;
    const auto number = static_cast<std::int32_t>(prompt_tokens_.size());
    if (different_units_ + request.input_length / unit_tokens_ > most_units_of_trace)
      throw InputError(fmt::format("the trace has more than {} different units of {} tokens; a bound over them takes "
                                   "more memory than is sensible: take fewer requests, or a larger page or match unit",
                                   most_units_of_trace, unit_tokens_));
    std::int32_t begin = 0;
    for (const TokenRun& run : batch.prompt(request)) {
      const auto end = static_cast<std::int32_t>(run.end_token / unit_tokens_);
      // Where it goes further into a run than all before, the runs behind are new: a chain tells where runs begin.
      if (end > begin) different_units_ += pass(run.chain, begin, {end, number});
      begin = end;
    }
    ends_.push_back(stretches_.size());
    prompt_tokens_.push_back(request.input_length);
    all_prompt_tokens_ = Checked(all_prompt_tokens_) + request.input_length;
  }
}

}  // namespace hybridkv
