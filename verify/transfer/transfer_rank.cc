#include "verify/transfer/transfer_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "layout/for_each_run.h"
#include "layout/permute.h"
#include "layout/slice.h"

namespace hybridkv {

namespace {

[[noreturn]] void refuse_shares(const std::string& tensor, std::int64_t ranks, std::int64_t held,
                                std::int64_t expected) {
  throw InputError(fmt::format("transfer --verify: each of {} ranks keeps {} heads or channels of {}, by the rules of "
                               "the proof {}; sides whose heads are padded are proven by none",
                               ranks, held, tensor, expected));
}

/// A single channel has no neighbour, wherever its layout says that one would be.
Layout with_channels_together(const Layout& layout, std::int64_t element) {
  if (layout.extent("channel") != 1) return layout;
  std::vector<Axis> axes(layout.axes().begin(), layout.axes().end());
  axes[static_cast<std::size_t>(layout.find("channel"))].stride = element;
  return Layout(axes, layout.offset());
}

RankTokens tokens_of(const TransferSide& side, const BoundView& view, const ModelTensor& name,
                     const std::vector<std::int64_t>& table, const TransferRank& of, std::int64_t tokens) {
  const SpecPlan& spec = of.plan->specs[static_cast<std::size_t>(view.view.spec)];
  const AttentionGeometry& attention = *spec.attention;
  const bool latent = is_latent(attention.kind);
  const LayerSet& set = side.sets[static_cast<std::size_t>(spec.id)];
  const std::int64_t heads = latent ? 1 : set.attention->kv_heads;
  const KeyValueLayouts layouts = key_value_bytes(view, attention);
  RankTokens kept{.name = name,
                  .spec = &spec,
                  .set = &set,
                  .view = &view,
                  .key = with_channels_together(layouts.key, view.element_bytes()),
                  .value = with_channels_together(layouts.value, view.element_bytes()),
                  .has_values = !latent,
                  .table = &table,
                  .heads = parts_on_rank(heads, of.ranks, of.rank),
                  .end_token = tokens,
                  .mask = key_mask(attention.kind, attention.window_tokens)};
  kept.first_token = attention.window_tokens > 0 ? std::max<std::int64_t>(0, tokens - attention.window_tokens) : 0;
  if (kept.key.extent("head") != std::ssize(kept.heads))
    refuse_shares(name.text(), of.ranks, kept.key.extent("head"), std::ssize(kept.heads));
  return kept;
}

/// Elements of a row of the recurrent tensor, of a ring: all axes but the first.
std::int64_t row_elements(const Layout& layout) { return layout.num_elements() / layout[0].extent; }

RankState state_of_rank(const TransferSide& side, const BoundView& view, const ModelTensor& name,
                        const std::vector<std::int64_t>& ids, const TransferRank& of) {
  const SpecPlan& spec = of.plan->specs[static_cast<std::size_t>(view.view.spec)];
  RankState kept{.name = name,
                 .spec = &spec,
                 .set = &side.sets[static_cast<std::size_t>(spec.id)],
                 .tensor = &tensor_of(*spec.state, view.view),
                 .pieces = {&view},
                 .ids = &ids};
  const Layout& layout = kept.tensor->layout;
  if (name.kind == CachedKind::ring) {
    kept.rows = layout[0].extent;
    kept.width = row_elements(layout);
    kept.parts = {{"row", kept.rows, kept.width}};
    kept.columns.resize(static_cast<std::size_t>(kept.rows));
    std::iota(kept.columns.begin(), kept.columns.end(), 0);
    return kept;
  }
  const RecurrentSpec& layer = *kept.set->recurrent;
  const PartedRows rows = parted_rows(layer);
  if (kept.is_conv()) {
    kept.parts = rows.conv;
    kept.columns = columns_on_rank(rows.conv, of.ranks, of.rank);
    kept.rows = conv_taps(layer) - 1;
    kept.width = std::ssize(kept.columns);
    if (layout.extent("channel") != kept.width)
      refuse_shares(name.text(), of.ranks, layout.extent("channel"), kept.width);
    return kept;
  }
  kept.parts = rows.state;
  kept.columns = parts_on_rank(rows.state.front().count, of.ranks, of.rank);
  kept.rows = std::ssize(kept.columns);
  kept.width = rows.state.front().width;
  if (layout[0].extent != kept.rows || row_elements(layout) != kept.width)
    refuse_shares(name.text(), of.ranks, layout[0].extent, kept.rows);
  return kept;
}

/// Of a view with an axis for every axis of the tensor the part that is of use, rows outermost.
Layout rows_of_view(const RankState& state, const Layout& at) {
  if (!state.is_conv()) return at;
  return permute(slice(at, "step", 0, state.rows), {"step", "channel"});
}

/// Of a view of elements in the order of the tensor the runs that are of use.
void add_piece_runs(const RankState& state, const BoundView& view, std::int64_t byte, std::vector<StateRun>& runs) {
  const std::int64_t first = view.view.first_element, end = first + view.address.extent("element");
  const Layout& layout = state.tensor->layout;
  if (!state.is_conv() || layout[0].name == AxisName("step")) {
    if (first < state.elements()) runs.push_back({byte, first, std::min(end, state.elements()) - first});
    return;
  }
  const std::int64_t steps = layout.extent("step"), element = element_bytes(state.dtype());
  for (std::int64_t i = first; i < end; ++i)
    if (i % steps < state.rows)
      runs.push_back({byte + (i - first) * element, i % steps * state.width + i / steps, 1});
}

}  // namespace

std::int64_t RankTokens::slot(std::int64_t token) const {
  const std::int64_t block = spec->block_size_tokens;
  return (*table)[static_cast<std::size_t>(token / block)] * block + token % block;
}

std::int64_t RankTokens::byte_of(std::int64_t slot, std::int64_t head, bool is_value) const {
  const std::int64_t kernel_block = spec->kernel_block_size_tokens;
  return (is_value ? value : key).at({slot / kernel_block, slot % kernel_block, head, 0});
}

std::int64_t RankTokens::live_bytes(std::int64_t first) const {
  const std::int64_t row = row_bytes(false) + (has_values ? row_bytes(true) : 0);
  return Checked(end_token - std::max(first, first_token)) * std::ssize(heads) * row;
}

std::vector<StateRun> RankState::runs(std::span<const std::int64_t> at) const {
  std::vector<StateRun> runs;
  if (elements() == 0) return runs;
  const std::int64_t element = element_bytes(dtype());
  for (const BoundView* view : pieces) {
    const Layout place = slice(view->address, "block", at[static_cast<std::size_t>(view->view.piece)]);
    if (place.find("element") >= 0) {
      add_piece_runs(*this, *view, place.offset(), runs);
      continue;
    }
    std::int64_t first = 0;
    for_each_run(in_elements(rows_of_view(*this, place), element), [&](std::int64_t offset, std::int64_t count) {
      runs.push_back({offset * element + place.offset() % element, first, count});
      first += count;
    });
  }
  std::sort(runs.begin(), runs.end(), [](const StateRun& a, const StateRun& b) { return a.first < b.first; });
  return runs;
}

std::vector<float> RankState::values(std::uint64_t tensor_key) const {
  std::vector<float> all(static_cast<std::size_t>(elements()));
  if (!is_conv()) {
    for (std::int64_t row = 0; row < rows; ++row)
      draw_values(mix(tensor_key, static_cast<std::uint64_t>(columns[static_cast<std::size_t>(row)])),
                  std::span(all).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)));
    return all;
  }
  std::vector<float> step(static_cast<std::size_t>(width_of(parts)));
  for (std::int64_t row = 0; row < rows; ++row) {
    draw_values(mix(tensor_key, static_cast<std::uint64_t>(row)), step);
    for (std::int64_t i = 0; i < width; ++i)
      all[static_cast<std::size_t>(row * width + i)] =
          step[static_cast<std::size_t>(columns[static_cast<std::size_t>(i)])];
  }
  return all;
}

std::string RankState::element_name(std::int64_t element) const {
  const std::int64_t row = element / width, place = element % width;
  if (is_conv())
    return fmt::format("step {}, {}", row, column_name(parts, columns[static_cast<std::size_t>(place)]));
  const char* const what = name.kind == CachedKind::ring ? "token" : "head";
  return fmt::format("{} {}, element {}", what, columns[static_cast<std::size_t>(row)], place);
}

TransferRank::TransferRank(const TransferSide& side, const RequestTables& tables, std::int64_t of,
                           std::int64_t request_tokens)
    : plan(&side.plan_of(of)),
      number(of),
      rank(of % side.tensor_parallel),
      ranks(side.tensor_parallel),
      views(bind_views(*plan)) {
  const auto& ids = tables.ids[static_cast<std::size_t>(side.stage_of(of))];
  for (const BoundView& view : views) {
    const SpecPlan& spec = plan->specs[static_cast<std::size_t>(view.view.spec)];
    const ModelTensor name = model_tensor(*plan, view.view);
    const std::vector<std::int64_t>& table = ids[static_cast<std::size_t>(view.group)];
    if (spec.attention) {
      tokens.push_back(tokens_of(side, view, name, table, *this, request_tokens));
    } else if (const auto begun = std::find_if(states.begin(), states.end(),
                                               [&](const RankState& state) { return state.name == name; });
               begun != states.end()) {
      begun->pieces.push_back(&view);
    } else if (name.kind == CachedKind::ring || name.tensor == "conv" || name.tensor == "ssm") {
      // Others hold what an engine replays drafts from, of which none is in flight.
      states.push_back(state_of_rank(side, view, name, table, *this));
    }
  }
}

std::int64_t TransferRank::live_bytes(std::int64_t first_token) const {
  Checked bytes = 0;
  for (const RankTokens& kept : tokens) bytes += std::max<std::int64_t>(0, kept.live_bytes(first_token));
  for (const RankState& kept : states) bytes += Checked(kept.elements()) * element_bytes(kept.dtype());
  return bytes;
}

const RankTokens* TransferRank::find_tokens(const ModelTensor& name) const {
  const auto found =
      std::find_if(tokens.begin(), tokens.end(), [&](const RankTokens& kept) { return kept.name == name; });
  return found == tokens.end() ? nullptr : &*found;
}

const RankState* TransferRank::find_state(const ModelTensor& name) const {
  const auto found =
      std::find_if(states.begin(), states.end(), [&](const RankState& kept) { return kept.name == name; });
  return found == states.end() ? nullptr : &*found;
}

TransferRanks::TransferRanks(const TransferSide& from_side, const TransferSide& to_side,
                             const RequestTables& from_tables, const RequestTables& to_tables, std::int64_t tokens) {
  for (std::int64_t rank = 0; rank < from_side.num_ranks(); ++rank)
    from.emplace_back(from_side, from_tables, rank, tokens);
  for (std::int64_t rank = 0; rank < to_side.num_ranks(); ++rank) to.emplace_back(to_side, to_tables, rank, tokens);
  std::map<ModelTensor, const RankTokens*> narrowest;
  for (const auto* side : {&from, &to})
    for (const TransferRank& rank : *side)
      for (const RankTokens& kept : rank.tokens) {
        const RankTokens*& known = narrowest[kept.name];
        if (known == nullptr || known->first_token < kept.first_token || known->mask.kind == MaskKind::full)
          known = &kept;
      }
  std::map<ModelTensor, std::pair<std::int64_t, KeyMask>> agreed;
  for (const auto& [name, kept] : narrowest) agreed.emplace(name, std::pair{kept->first_token, kept->mask});
  for (auto* side : {&from, &to})
    for (TransferRank& rank : *side)
      for (RankTokens& kept : rank.tokens) std::tie(kept.first_token, kept.mask) = agreed.at(kept.name);
}

}  // namespace hybridkv
