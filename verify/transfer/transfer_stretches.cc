#include "verify/transfer/transfer_stretches.h"

#include <algorithm>
#include <map>

#include "verify/transfer/transfer_run.h"

namespace hybridkv {

namespace {

/// The runs of elements [first, first + count), counted from the first of these.
std::vector<StateRun> cut_runs(const std::vector<StateRun>& runs, std::int64_t element, std::int64_t first,
                               std::int64_t count) {
  std::vector<StateRun> cut;
  for (const StateRun& run : runs) {
    const std::int64_t begin = std::max(first, run.first), end = std::min(first + count, run.first + run.count);
    if (begin < end) cut.push_back({run.byte + (begin - run.first) * element, begin - first, end - begin});
  }
  return cut;
}

}  // namespace

std::vector<StateStretch> shared_stretches(const RankState& from, const RankState& to) {
  std::map<std::int64_t, std::int64_t> at_source;  // by column of the whole layer
  for (std::size_t i = 0; i < from.columns.size(); ++i) at_source.emplace(from.columns[i], std::int64_t(i));
  std::vector<StateStretch> stretches;
  const auto add = [&](const StateStretch& next) {
    if (!stretches.empty() && stretches.back().from + stretches.back().count == next.from &&
        stretches.back().to + stretches.back().count == next.to)
      stretches.back().count += next.count;
    else
      stretches.push_back(next);
  };
  for (std::int64_t row = 0; row < (to.is_conv() ? to.rows : 1); ++row)
    for (std::size_t i = 0; i < to.columns.size(); ++i) {
      const auto found = at_source.find(to.columns[i]);
      if (found == at_source.end()) continue;
      const auto place = static_cast<std::int64_t>(i);
      if (to.is_conv())
        add({row * from.width + found->second, row * to.width + place, 1});
      else
        add({found->second * from.width, place * to.width, to.width});
    }
  return stretches;
}

std::int32_t content_between(std::span<const Content> contents, DType from, DType to) {
  if (from == to) return raw_bytes;
  for (std::size_t i = 0; i < contents.size(); ++i)
    if (contents[i].from_dtype == from && contents[i].to_dtype == to) return static_cast<std::int32_t>(i);
  throw std::logic_error("the map converts between these types");
}

void add_state_copies(const RankState& from, std::span<const std::int64_t> from_ids, const RankState& to,
                      const StateStretch& stretch, std::int32_t content, std::vector<Copy>& copies) {
  const std::int64_t from_element = element_bytes(from.dtype()), to_element = element_bytes(to.dtype());
  const std::vector<StateRun> sources = cut_runs(from.runs(from_ids), from_element, stretch.from, stretch.count);
  const std::vector<StateRun> destinations = cut_runs(to.runs(), to_element, stretch.to, stretch.count);
  auto source = sources.begin();
  for (const StateRun& run : destinations)
    for (std::int64_t done = 0; done < run.count;) {
      while (source->first + source->count <= run.first + done) ++source;
      const std::int64_t into = run.first + done - source->first;
      const std::int64_t count = std::min(run.count - done, source->count - into);
      copies.push_back({.from = source->byte + into * from_element,
                        .to = run.byte + done * to_element,
                        .bytes = count * from_element,
                        .to_bytes = count * to_element,
                        .from_pool = static_cast<std::int32_t>(from.pool()),
                        .to_pool = static_cast<std::int32_t>(to.pool()),
                        .content = content});
      done += count;
    }
}

void add_head_copies(const RankTokens& from, std::int64_t from_head, const RankTokens& to, std::int64_t to_head,
                     ByteRange tokens, std::int32_t content, std::vector<Copy>& copies) {
  const bool dense = from.has_rows() && to.has_rows();
  for (std::int64_t token = tokens.first; token < tokens.end; ++token)
    for (const bool is_value : {false, true}) {
      if (is_value && !to.has_values) continue;
      const std::int64_t elements = to.row_bytes(is_value) / to.element_bytes(), together = dense ? elements : 1;
      const Layout& from_layout = is_value ? from.value : from.key;
      const Layout& to_layout = is_value ? to.value : to.key;
      for (std::int64_t i = 0; i < elements; i += together)
        copies.push_back(
            {.from = from.byte_of(from.slot(token), from_head, is_value) + i * from_layout.stride("channel"),
             .to = to.byte_of(to.slot(token), to_head, is_value) + i * to_layout.stride("channel"),
             .bytes = together * from.element_bytes(),
             .to_bytes = together * to.element_bytes(),
             .from_pool = static_cast<std::int32_t>(from.view->view.pool),
             .to_pool = static_cast<std::int32_t>(to.view->view.pool),
             .content = content});
    }
}

std::vector<std::vector<ByteRange>> live_ranges(const TransferRank& rank, LivePart part) {
  std::vector<std::vector<ByteRange>> pools(rank.plan->pools.size());
  const auto add_row = [&](const RankTokens& tokens, std::int64_t byte, bool is_value) {
    auto& ranges = pools[static_cast<std::size_t>(tokens.view->view.pool)];
    const std::int64_t element = tokens.element_bytes(), bytes = tokens.row_bytes(is_value);
    if (tokens.has_rows()) {
      ranges.push_back({byte, byte + bytes});
      return;
    }
    const std::int64_t step = (is_value ? tokens.value : tokens.key).stride("channel");
    for (std::int64_t i = 0; i < bytes / element; ++i)
      ranges.push_back({byte + i * step, byte + i * step + element});
  };
  if (part != LivePart::states)
    for (const RankTokens& tokens : rank.tokens)
      for (std::int64_t token = tokens.first_token; token < tokens.end_token; ++token)
        for (std::int64_t head = 0; head < std::ssize(tokens.heads); ++head) {
          add_row(tokens, tokens.byte_of(tokens.slot(token), head, false), false);
          if (tokens.has_values) add_row(tokens, tokens.byte_of(tokens.slot(token), head, true), true);
        }
  if (part != LivePart::tokens)
    for (const RankState& state : rank.states)
      for (const StateRun& run : state.runs())
        pools[static_cast<std::size_t>(state.pool())].push_back(
            {run.byte, run.byte + run.count * element_bytes(state.dtype())});
  for (auto& ranges : pools) ranges = joined_ranges(std::move(ranges));
  return pools;
}

}  // namespace hybridkv
