#include "transfer/routes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "layout/layout.h"
#include "transfer/nearest_rank.h"
#include "transfer/refusals.h"
#include "transfer/state_runs.h"

namespace hybridkv {

namespace {

/// Position of a value in a list without repetition; behind all others where it is new.
template <class Value>
std::size_t index_in(std::vector<Value>& list, const Value& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

KeyValueLayouts key_values(const HeldTensor& tensor) {
  const AttentionGeometry& attention = *tensor.spec->attention;
  return key_value_layouts(attention.form, tensor.view().bytes, attention.head_size_k, attention.head_size_v);
}

class RouteMaker {
 public:
  RouteMaker(const TransferSide& from, const TransferSide& to, const TransferOptions& options)
      : from_(from), to_(to), options_(options) {
    pairs_.resize(static_cast<std::size_t>(from.num_ranks() * to.num_ranks()));
  }

  TransferRoutes make() {
    const std::vector<HeldTensor> sources = held_tensors(from_);
    std::map<TensorKey, const HeldTensor*> by_key;
    for (const HeldTensor& source : sources) by_key.emplace(source.key, &source);
    for (const HeldTensor& tensor : held_tensors(to_)) {
      const auto source = by_key.find(tensor.key);
      if (source == by_key.end()) refuse_missing(tensor);
      add(*source->second, tensor);
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      PairRoutes& pair = pairs_[i];
      if (pair.states.empty() && pair.tokens.empty()) continue;
      pair.to_rank = static_cast<std::int64_t>(i) / from_.num_ranks();
      pair.from_rank = static_cast<std::int64_t>(i) % from_.num_ranks();
      std::sort(pair.tokens.begin(), pair.tokens.end(), [](const TokenRoute& a, const TokenRoute& b) {
        return std::tie(a.to_pool, a.tables, a.to.base) < std::tie(b.to_pool, b.tables, b.to.base);
      });
      routes_.pairs.push_back(std::move(pair));
    }
    return std::move(routes_);
  }

 private:
  PairRoutes& pair(const HeldTensor& from, std::int64_t from_rank, const HeldTensor& to, std::int64_t to_rank) {
    const std::int64_t source = from.stage * from_.tensor_parallel + from_rank;
    const std::int64_t destination = to.stage * to_.tensor_parallel + to_rank;
    return pairs_[static_cast<std::size_t>(destination * from_.num_ranks() + source)];
  }

  void add(const HeldTensor& from, const HeldTensor& to) {
    check_exchange(from, to, options_);
    check_shares(from, from_.tensor_parallel, "from");
    check_shares(to, to_.tensor_parallel, "to");
    content_ = static_cast<std::int32_t>(routes_.contents.size());
    routes_.contents.push_back({.role = to.spec->role(),
                                .kind = to.spec->kind,
                                .layer = to.key.layer,
                                .tensor = to.key.tensor,
                                .from_dtype = from.dtype(),
                                .to_dtype = to.dtype()});
    if (to.is_by_token()) {
      add_tokens(from, to);
      return;
    }
    routes_.content_tables.push_back(-1);
    routes_.content_bytes.push_back(whole_state_bytes(to));
    for (std::int64_t rank = 0; rank < to_.tensor_parallel; ++rank)
      for_each_state_run(from, from_.tensor_parallel, to, to_.tensor_parallel, rank,
                         [&](std::int64_t source, const StatePieceRun& run) {
                           pair(from, source, to, rank).states.push_back(state_run(from, to, run));
                         });
  }

  StateRoute state_run(const HeldTensor& from, const HeldTensor& to, const StatePieceRun& run) {
    const ViewPlan& source = *from.pieces[run.from_piece];
    const ViewPlan& target = *to.pieces[run.to_piece];
    return {.copy = {.from = source.bytes.offset() + run.from,
                     .to = target.bytes.offset() + run.to,
                     .bytes = run.bytes.from_bytes,
                     .to_bytes = run.bytes.to_bytes,
                     .from_pool = static_cast<std::int32_t>(source.pool),
                     .to_pool = static_cast<std::int32_t>(target.pool),
                     .content = content_},
            .from_step = index_in(routes_.from_steps,
                                  {from.stage, from.table, source.piece, source.bytes.stride("block")}),
            .to_step = index_in(routes_.to_steps, {to.stage, to.table, target.piece, target.bytes.stride("block")})};
  }

  static TokenTable token_table(const HeldTensor& tensor, const Layout& key) {
    return {.stage = tensor.stage,
            .table = tensor.table,
            .spec = tensor.spec,
            .is_row = key.stride("block") == tensor.spec->kernel_block_size_tokens * key.stride("token")};
  }

  void add_tokens(const HeldTensor& from, const HeldTensor& to) {
    const KeyValueLayouts source = key_values(from), target = key_values(to);
    const std::size_t tables =
        index_in(routes_.tables, {token_table(from, source.key), token_table(to, target.key)});
    const std::int64_t heads = shared_parts(to).front().parts;
    const AttentionGeometry& attention = *to.spec->attention;
    const bool is_latent = attention.form == BackendForm::mla;
    const std::int64_t channels = attention.head_size_k + (is_latent ? 0 : attention.head_size_v);
    routes_.content_tables.push_back(static_cast<std::int64_t>(tables));
    routes_.content_bytes.push_back(heads * channels * element_bytes(to.dtype()));
    const std::int64_t value_from = source.value.offset() - source.key.offset();
    const std::int64_t value_to = target.value.offset() - target.key.offset();
    const bool together = !is_latent && attention.head_size_k == attention.head_size_v;
    for (std::int64_t rank = 0; rank < to_.tensor_parallel; ++rank)
      for (const PartsFromRank& parts : parts_from_ranks(heads, from_.tensor_parallel, to_.tensor_parallel, rank)) {
        const auto add_part = [&](const Layout& read, const Layout& written, const BoxAxis& key_value) {
          TokenRoute route{.content = content_,
                           .from_pool = static_cast<std::int32_t>(from.view().pool),
                           .to_pool = static_cast<std::int32_t>(to.view().pool),
                           .tables = tables,
                           .from = place_of(read, parts.from_first),
                           .to = place_of(written, parts.to_first),
                           .element = {element_bytes(from.dtype()), element_bytes(to.dtype())}};
          route.axes = {key_value,
                        BoxAxis{parts.count, read.stride("head"), written.stride("head")},
                        BoxAxis{read.extent("channel"), read.stride("channel"), written.stride("channel")}};
          pair(from, parts.from_rank, to, rank).tokens.push_back(route);
        };
        add_part(source.key, target.key, together ? BoxAxis{2, value_from, value_to} : BoxAxis{});
        if (!is_latent && !together) add_part(source.value, target.value, {});
      }
  }

  static TokenPlace place_of(const Layout& layout, std::int64_t first_head) {
    return {.base = layout.offset() + first_head * layout.stride("head"),
            .block_stride = layout.stride("block"),
            .token_stride = layout.stride("token")};
  }

  const TransferSide& from_;
  const TransferSide& to_;
  const TransferOptions& options_;
  TransferRoutes routes_;
  std::vector<PairRoutes> pairs_;  // (destination, source)
  std::int32_t content_ = 0;
};

}  // namespace

TransferRoutes make_routes(const TransferSide& from, const TransferSide& to, const TransferOptions& options) {
  return RouteMaker(from, to, options).make();
}

}  // namespace hybridkv
