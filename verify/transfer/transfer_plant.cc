#include "verify/transfer/transfer_plant.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "verify/fault/plant_descriptors.h"
#include "verify/transfer/transfer_run.h"
#include "verify/transfer/transfer_stretches.h"

namespace hybridkv {

namespace {

/// A KV head, or another part, on the rank that keeps it.
template <class Kept>
struct PartPlace {
  const TransferRank* rank = nullptr;
  const Kept* kept = nullptr;
  std::int64_t here = 0;  ///< which of the rank's
};

/// Plants one fault, those of descriptors alone elsewhere.
class TransferPlanter {
 public:
  TransferPlanter(const PlantContext& context, CopyList& list) : context_(context), list_(list) {}

  PlantedTransfer plant(TransferFault fault) {
    switch (fault) {
      case TransferFault::heads_swapped: swap_heads(); break;
      case TransferFault::state_heads_swapped: swap_state_heads(); break;
      case TransferFault::wrong_replica: take_wrong_replica(); break;
      case TransferFault::wrong_group: take_wrong_group(); break;
      case TransferFault::sections_flat: split_flat(); break;
      case TransferFault::stale_state: take_older_state(); break;
      case TransferFault::stale_steps: take_earlier_steps(); break;
      case TransferFault::wrong_dtype: mistake_dtype(); break;
      case TransferFault::stale_block: take_stale_block(); break;
      case TransferFault::stale_entry: take_stale_entry(); break;
      default: return plant_descriptor_fault(fault, context_, list_);
    }
    if (!planted_.overwrites.empty()) planted_.to_rank = planted_.overwrites.front().to_rank;
    if (planted_.stale) planted_.to_rank = planted_.stale->rank;
    return std::move(planted_);
  }

 private:
  using HeadPlace = PartPlace<RankTokens>;
  using StatePlace = PartPlace<RankState>;

  void place(std::string where) { planted_.where = std::move(where); }
  void no_place(std::string why) { planted_.no_place = std::move(why); }

  RankCopies& overwrite(std::int64_t from_rank, std::int64_t to_rank) {
    planted_.overwrites.push_back({from_rank, to_rank, {}});
    return planted_.overwrites.back();
  }

  template <class Kept>
  static const std::vector<std::int64_t>& parts_of(const Kept& kept) {
    if constexpr (std::is_same_v<Kept, RankTokens>) return kept.heads;
    else return kept.columns;
  }
  static const std::vector<RankTokens>& kept_by(const TransferRank& rank, const RankTokens*) { return rank.tokens; }
  static const std::vector<RankState>& kept_by(const TransferRank& rank, const RankState*) { return rank.states; }

  /// The first rank that keeps a part of a tensor.
  template <class Kept>
  static std::optional<PartPlace<Kept>> find_part(std::span<const TransferRank> ranks, const ModelTensor& name,
                                                  std::int64_t part) {
    for (const TransferRank& rank : ranks)
      for (const Kept& kept : kept_by(rank, static_cast<const Kept*>(nullptr))) {
        if (kept.name != name) continue;
        const auto found = std::find(parts_of(kept).begin(), parts_of(kept).end(), part);
        if (found != parts_of(kept).end()) return PartPlace<Kept>{&rank, &kept, found - parts_of(kept).begin()};
      }
    return std::nullopt;
  }

  std::int32_t content_between(DType from, DType to) const {
    return hybridkv::content_between(list_.contents, from, to);
  }

  /// Tokens of a layer that are moved.
  ByteRange moved_tokens(const RankTokens& tokens) const {
    return {std::max(tokens.first_token, context_.present_tokens), tokens.end_token};
  }

  /// Has a layer more than one KV head, whose rows can be told apart, and are tokens of it moved?
  bool has_heads(const RankTokens& tokens) const {
    return tokens.name.kind == CachedKind::attention && tokens.has_values && tokens.set->attention->kv_heads > 1 &&
           moved_tokens(tokens).bytes() > 0;
  }

  void overwrite_head(std::int64_t source_head, const HeadPlace& to) {
    const HeadPlace from = *find_part<RankTokens>(context_.from, to.kept->name, source_head);
    add_head_copies(*from.kept, from.here, *to.kept, to.here, moved_tokens(*to.kept),
                    content_between(from.kept->attention().dtype, to.kept->attention().dtype),
                    overwrite(from.rank->number, to.rank->number).copies);
  }

  void swap_heads() {
    for (const TransferRank& rank : context_.to)
      for (const RankTokens& tokens : rank.tokens) {
        if (!has_heads(tokens)) continue;
        const HeadPlace one{&rank, &tokens, 0};
        const std::int64_t first = tokens.heads.front();
        const std::int64_t second = (first + 1) % tokens.set->attention->kv_heads;
        overwrite_head(second, one);
        overwrite_head(first, *find_part<RankTokens>(context_.to, tokens.name, second));
        return place(fmt::format("{}, KV heads {} and {}", tokens.name.text(), first, second));
      }
    no_place("no layer has two KV heads whose tokens are moved");
  }

  void take_wrong_replica() {
    for (const TransferRank& rank : context_.to)
      for (const RankTokens& tokens : rank.tokens) {
        if (!has_heads(tokens)) continue;
        const std::int64_t heads = tokens.set->attention->kv_heads;
        if (heads >= rank.ranks && heads >= context_.from.front().ranks) continue;
        const std::int64_t wrong = (tokens.heads.front() + 1) % heads;
        overwrite_head(wrong, {&rank, &tokens, 0});
        return place(fmt::format("destination rank {}, {}: KV head {} in the place of {}", rank.number,
                                 tokens.name.text(), wrong, tokens.heads.front()));
      }
    no_place("no layer has two KV heads or more, but fewer than a side has ranks");
  }

  void overwrite_state_head(std::int64_t source_head, const StatePlace& to) {
    const StatePlace from = *find_part<RankState>(context_.from, to.kept->name, source_head);
    const std::int64_t width = to.kept->width;
    add_state_copies(*from.kept, *from.kept->ids, *to.kept, {from.here * width, to.here * width, width},
                     content_between(from.kept->dtype(), to.kept->dtype()),
                     overwrite(from.rank->number, to.rank->number).copies);
  }

  void swap_state_heads() {
    for (const TransferRank& rank : context_.to)
      for (const RankState& state : rank.states) {
        const std::int64_t heads = state.parts.front().count;
        if (state.name.tensor != "ssm" || heads < 2) continue;
        const std::int64_t first = state.columns.front(), second = (first + 1) % heads;
        overwrite_state_head(second, {&rank, &state, 0});
        overwrite_state_head(first, *find_part<RankState>(context_.to, state.name, second));
        return place(fmt::format("{}, heads {} and {}", state.name.text(), first, second));
      }
    no_place("no recurrent state has two heads");
  }

  void take_wrong_group() {
    for (const TransferRank& rank : context_.to)
      for (const RankState& state : rank.states) {
        if (!state.is_conv() || state.rows == 0) continue;
        std::int64_t first_column = 0;
        for (const RowPart& part : state.parts) {
          const bool is_replicated = part.count < rank.ranks || part.count < context_.from.front().ranks;
          if (part.count > 1 && is_replicated) {
            overwrite_part(rank, state, part, first_column);
            return;
          }
          first_column += part.count * part.width;
        }
      }
    no_place("no convolution state has groups of B and C, two or more, but fewer than a side has ranks");
  }

  /// The first of these parts on a rank becomes the one behind it.
  void overwrite_part(const TransferRank& rank, const RankState& state, const RowPart& part,
                      std::int64_t first_column) {
    const auto kept = std::find_if(state.columns.begin(), state.columns.end(), [&](std::int64_t column) {
      return column >= first_column && column < first_column + part.count * part.width;
    });
    const std::int64_t right = (*kept - first_column) / part.width, wrong = (right + 1) % part.count;
    const StatePlace from = *find_part<RankState>(context_.from, state.name, first_column + wrong * part.width);
    RankCopies& copies = overwrite(from.rank->number, rank.number);
    const std::int64_t here = kept - state.columns.begin();
    for (std::int64_t row = 0; row < state.rows; ++row)
      add_state_copies(*from.kept, *from.kept->ids, state,
                       {row * from.kept->width + from.here, row * state.width + here, part.width},
                       content_between(from.kept->dtype(), state.dtype()), copies.copies);
    place(fmt::format("destination rank {}, {}: group {} of {} in the place of {}", rank.number, state.name.text(),
                      wrong, part.name, right));
  }

  /// Where channel `flat` of all ranks' rows, one behind the other, lies at the source.
  StatePlace flat_place(const ModelTensor& name, std::int64_t flat) const {
    for (const TransferRank& rank : context_.from) {
      const RankState* const state = rank.find_state(name);
      if (state == nullptr) continue;
      if (flat < state->width) return {&rank, state, flat};
      flat -= state->width;
    }
    return {};
  }

  void split_flat() {
    for (const TransferRank& rank : context_.to)
      for (const RankState& state : rank.states) {
        if (!state.is_conv() || state.rows == 0) continue;
        const std::int64_t first = rank.rank * state.width, all = rank.ranks * state.width;
        // With replicated groups flat shares are no whole rows.
        if (flat_place(state.name, all - 1).kept == nullptr || flat_place(state.name, all).kept != nullptr) continue;
        bool differs = false;
        for (std::int64_t i = 0; i < state.width; ++i) {
          const StatePlace from = flat_place(state.name, first + i);
          differs = differs || from.kept->columns[static_cast<std::size_t>(from.here)] !=
                                   state.columns[static_cast<std::size_t>(i)];
        }
        if (!differs) continue;
        for (std::int64_t i = 0; i < state.width; ++i) {
          const StatePlace from = flat_place(state.name, first + i);
          RankCopies& copies = overwrite(from.rank->number, rank.number);
          for (std::int64_t row = 0; row < state.rows; ++row)
            add_state_copies(*from.kept, *from.kept->ids, state,
                             {row * from.kept->width + from.here, row * state.width + i, 1},
                             content_between(from.kept->dtype(), state.dtype()), copies.copies);
        }
        return place(fmt::format("destination rank {}, {}: channels {} to {} of all {}", rank.number,
                                 state.name.text(), first, first + state.width - 1, all));
      }
    no_place("no convolution state has sections that a flat split would tear apart");
  }

  /// The first state on a destination that satisfies, with a source that has part of it.
  template <class Fits>
  std::optional<std::pair<StatePlace, StatePlace>> find_states(Fits&& fits) {
    for (const TransferRank& rank : context_.to)
      for (const RankState& state : rank.states) {
        if (state.elements() == 0 || !fits(state)) continue;
        const StatePlace from = *find_part<RankState>(context_.from, state.name, state.columns.front());
        return std::pair{from, StatePlace{&rank, &state, 0}};
      }
    return std::nullopt;
  }

  /// Pre: the stretches lie within both states; behind them begins a tensor that the fault is not of.
  void overwrite_state(const StatePlace& from, std::span<const std::int64_t> from_ids, const StatePlace& to,
                       std::span<const StateStretch> stretches) {
    for (const StateStretch& stretch : stretches)
      expects(stretch.from + stretch.count <= from.kept->elements() &&
                  stretch.to + stretch.count <= to.kept->elements(),
              "stretches of a state lie within it");
    RankCopies& copies = overwrite(from.rank->number, to.rank->number);
    for (const StateStretch& stretch : stretches)
      add_state_copies(*from.kept, from_ids, *to.kept, stretch,
                       content_between(from.kept->dtype(), to.kept->dtype()), copies.copies);
  }

  /// Ids that nobody holds, for one entry of a group; none where there are too few.
  static std::vector<std::int64_t> free_entry(const TransferRank& rank, const HeldPages& pages,
                                              const BoundView& view, std::int64_t request_tokens) {
    const GroupPlan& group = group_of(*rank.plan, view);
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank.plan->groups.size(); ++i)
      if (const std::int64_t taken = next_free_ids(*rank.plan, request_tokens)[i];
          rank.plan->groups[i].arena == group.arena)
        next = std::max(next, static_cast<std::size_t>(taken + 1));
    const std::vector<std::int64_t>& free = pages.free_ids[group.arena.index()];
    std::vector<std::int64_t> entry;
    for (std::int64_t piece = 0; piece < group.ids_per_entry; ++piece) {
      if (next + static_cast<std::size_t>(piece) >= free.size()) return {};
      entry.push_back(free[next + static_cast<std::size_t>(piece)] * group.entries_per_id);
    }
    return entry;
  }

  void take_older_state() {
    auto found = find_states([](const RankState& state) { return state.name.tensor == "ssm"; });
    if (!found) found = find_states([](const RankState& state) { return state.name.kind == CachedKind::state; });
    if (!found) return no_place("there are no states");
    const auto& [from, to] = *found;
    const std::vector<std::int64_t> ids = free_entry(*from.rank, context_.from_pages_of(*from.rank),
                                                     *from.kept->pieces.front(), context_.request_tokens);
    if (ids.empty()) return no_place("the source has no free id that could hold an older state");
    planted_.older = OlderState{from.rank->number, from.kept->name, ids};
    overwrite_state(from, ids, to, shared_stretches(*from.kept, *to.kept));
    place(fmt::format("rank {} to rank {}, {}, from id {}", from.rank->number, to.rank->number, to.kept->name.text(),
                      ids.front()));
  }

  void take_earlier_steps() {
    const auto found = find_states([](const RankState& state) { return state.is_conv() && state.rows > 1; });
    if (!found) return no_place("no convolution state has two steps");
    const auto& [from, to] = *found;
    std::vector<StateStretch> stretches;
    for (std::int64_t row = 1; row < to.kept->rows; ++row)
      for (std::size_t i = 0; i < to.kept->columns.size(); ++i) {
        const auto column = std::find(from.kept->columns.begin(), from.kept->columns.end(), to.kept->columns[i]);
        if (column != from.kept->columns.end())
          stretches.push_back({(row - 1) * from.kept->width + (column - from.kept->columns.begin()),
                               row * to.kept->width + static_cast<std::int64_t>(i), 1});
      }
    overwrite_state(from, *from.kept->ids, to, stretches);
    place(fmt::format("rank {} to rank {}, {}, steps 1 to {}", from.rank->number, to.rank->number,
                      to.kept->name.text(), to.kept->rows - 1));
  }

  void mistake_dtype() {
    const auto converted = find_states([&](const RankState& state) {
      return find_part<RankState>(context_.from, state.name, state.columns.front())->kept->dtype() != state.dtype();
    });
    if (!converted) {
      planted_ = plant_descriptor_fault(TransferFault::wrong_dtype, context_, list_);
      return;
    }
    const auto& [from, to] = *converted;
    const std::int64_t from_element = element_bytes(from.kept->dtype()), element = element_bytes(to.kept->dtype());
    RankCopies& copies = overwrite(from.rank->number, to.rank->number);
    for (const StateStretch& stretch : shared_stretches(*from.kept, *to.kept)) {
      std::vector<Copy> pieces;
      add_state_copies(*from.kept, *from.kept->ids, *to.kept, stretch, raw_bytes, pieces);
      for (Copy& piece : pieces) {
        piece.bytes = piece.to_bytes = piece.bytes / from_element * std::min(from_element, element);
        copies.copies.push_back(piece);
      }
    }
    place(fmt::format("rank {} to rank {}, {}: bytes of {} as {}", from.rank->number, to.rank->number,
                      to.kept->name.text(), to_string(from.kept->dtype()), to_string(to.kept->dtype())));
  }

  bool goes_on_at_source(const ModelTensor& name) const {
    for (const TransferRank& rank : context_.from)
      if (const RankTokens* const tokens = rank.find_tokens(name); tokens != nullptr)
        return can_decode(*tokens) &&
               has_room(rank, context_.from_pages_of(rank), *tokens, context_.request_tokens);
    return false;
  }

  void take_stale_block() {
    for (const TransferRank& rank : context_.to)
      for (const RankTokens& tokens : rank.tokens) {
        if (!context_.continuation.layers.contains(tokens.name) || !can_decode(tokens)) continue;
        if (!goes_on_at_source(tokens.name)) continue;
        // The block of the last token is seen under any mask but where a chunk ends with it.
        const std::int64_t last = context_.request_tokens - 1;
        if (tokens.mask.first_visible(last + 1) > last) continue;
        const std::vector<std::int64_t> ids =
            free_entry(rank, context_.to_pages_of(rank), *tokens.view, context_.request_tokens);
        if (ids.empty()) continue;
        planted_.stale = StaleEntry{rank.number, tokens.name, last / tokens.spec->block_size_tokens, ids};
        return place(fmt::format("destination rank {}, {}, entry {} of its table", rank.number, tokens.name.text(),
                                 planted_.stale->position));
      }
    no_place("no attention layer goes on, or no id is free");
  }

  void take_stale_entry() {
    for (const TransferRank& rank : context_.to)
      for (const RankState& state : rank.states) {
        if (!context_.continuation.layers.contains(state.name) || state.elements() == 0) continue;
        const std::vector<std::int64_t> ids =
            free_entry(rank, context_.to_pages_of(rank), *state.pieces.front(), context_.request_tokens);
        if (ids.empty()) continue;
        planted_.stale = StaleEntry{rank.number, state.name, 0, ids};
        return place(fmt::format("destination rank {}, {}, from id {}", rank.number, state.name.text(), ids.front()));
      }
    no_place("no recurrent layer goes on, or no id is free");
  }

  const PlantContext& context_;
  CopyList& list_;
  PlantedTransfer planted_;
};

}  // namespace

std::int64_t free_ids_of_fault(TransferFault fault, const CachePlan& plan, ArenaId arena) {
  const bool needs = fault == TransferFault::stale_state || fault == TransferFault::stale_block ||
                     fault == TransferFault::stale_entry;
  std::int64_t most = 0;
  for (const GroupPlan& group : plan.groups)
    if (group.arena == arena) most = std::max(most, group.ids_per_entry);
  return needs ? most : 0;
}

PlantedTransfer plant_transfer_fault(TransferFault fault, const PlantContext& context, CopyList& list) {
  return TransferPlanter(context, list).plant(fault);
}

}  // namespace hybridkv
