#include "verify/transfer/transfer_continue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "attention/backend.h"
#include "attention/cache_write.h"
#include "attention/metadata.h"
#include "attention/simd_path.h"
#include "base/convert.h"
#include "base/parallel.h"
#include "base/random.h"
#include "mamba/recurrent_forward.h"
#include "verify/forward/held_state.h"
#include "verify/layout/cache_codec.h"

namespace hybridkv {

namespace {

constexpr std::int64_t continued_chunk = 64;  ///< tokens of a chunk of the scan

/// What is drawn for a layer beside what its cache holds.
enum class Drawn : std::uint64_t { weights = 1, inputs, queries };

std::uint64_t drawn_key(std::uint64_t seed, const ModelTensor& layer, Drawn what) {
  return mix(key_of(seed, layer), static_cast<std::uint64_t>(what));
}

/// The tensors of the state of one layer on a rank.
struct LayerState {
  const RankState* conv = nullptr;
  const RankState* ssm = nullptr;
  const RankState& any() const { return ssm != nullptr ? *ssm : *conv; }
};

/// By any tensor's name but that of it.
std::vector<LayerState> continued_states(const TransferRank& rank, const std::set<ModelTensor>& layers) {
  std::map<ModelTensor, LayerState> states;
  for (const RankState& state : rank.states) {
    if (state.name.kind != CachedKind::state || !layers.contains(state.name)) continue;
    ModelTensor layer = state.name;
    layer.tensor.clear();
    (state.is_conv() ? states[layer].conv : states[layer].ssm) = &state;
  }
  std::vector<LayerState> list;
  for (const auto& [layer, state] : states) list.push_back(state);
  return list;
}

/// A state outside the pools, with the values of another.
struct OwnState {
  std::vector<std::byte> conv, ssm;
  StateView view;

  OwnState(const StateView& from, DType conv_dtype, DType ssm_dtype) {
    if (from.has_conv()) view.conv = copy(from.conv, conv_dtype, conv);
    if (from.has_ssm()) view.ssm = copy(from.ssm, ssm_dtype, ssm);
  }
  static TensorView copy(const TensorView& from, DType dtype, std::vector<std::byte>& bytes) {
    bytes.resize(static_cast<std::size_t>(from.layout.num_elements() * element_bytes(dtype)));
    const TensorView own = make_view(bytes, dtype, row_major(from.layout.axes()));
    store_tensor(own, load_tensor(from));
    return own;
  }
};

/// The type that a tensor is moved into; its own at the destination.
DType moved_type(const RankMemory& memory, const Continuation& continuation, const RankState* state) {
  if (state == nullptr) return DType::fp32;
  return memory.side == CanarySide::from ? continuation.to_types->at(state->name) : state->dtype();
}

/// The entry of a tensor of the layer, or the stale one where that is of its table.
std::vector<BlockId> ids_of(const RankState* state, const LayerState& layer, const std::optional<StaleEntry>& stale) {
  if (state == nullptr) return {};
  const ModelTensor& name = state->name;
  const bool of_layer = stale && stale->tensor.kind == CachedKind::state && stale->tensor.layer == name.layer &&
                        stale->tensor.draft == name.draft;
  const RankState* const named =
      of_layer && layer.conv != nullptr && layer.conv->name.tensor == stale->tensor.tensor ? layer.conv : layer.ssm;
  const bool is_stale = of_layer && (named == nullptr || *named->ids == *state->ids);
  const std::vector<std::int64_t>& ids = is_stale ? stale->ids : *state->ids;
  return {ids.begin(), ids.end()};
}

std::vector<float> drawn_rows(std::uint64_t key, std::int64_t rows, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  draw_values(key, values);
  return values;
}

LayerOutputs continue_state(const RankMemory& memory, const Continuation& continuation, const LayerState& layer,
                            const std::optional<StaleEntry>& stale) {
  const TransferRank& rank = *memory.rank;
  const RankState& any = layer.any();
  const RecurrentSpec& whole = *any.set->recurrent;
  const PartedRows rows = parted_rows(whole);
  const RecurrentLayer here = layer_on_rank(
      random_layer(whole, drawn_key(continuation.seed, any.name, Drawn::weights)), rank.ranks, rank.rank);
  const std::vector<float> inputs =
      rows_on_rank(drawn_rows(drawn_key(continuation.seed, any.name, Drawn::inputs), continuation.new_tokens,
                              width_of(rows.input)),
                   rows.input, rank.ranks, rank.rank);
  StateViews views;
  if (layer.conv != nullptr) views.conv = layer.conv->pieces;
  if (layer.ssm != nullptr) views.ssm = layer.ssm->pieces;
  const StateIds entry{ids_of(layer.conv, layer, stale), ids_of(layer.ssm, layer, stale)};
  const HeldState state(memory.pools, *any.spec->state, views, entry, StateUse::read);
  LayerOutputs outputs{any.name, rows.output, columns_on_rank(rows.output, rank.ranks, rank.rank), {}};
  const auto run = [&](DType conv, DType ssm) {
    std::vector<float> values(outputs.columns.size() * static_cast<std::size_t>(continuation.new_tokens));
    const OwnState own(state.view(), conv, ssm);
    run_chunked(here, inputs, own.view, own.view, continued_chunk, values);
    return values;
  };
  const DType conv = moved_type(memory, continuation, layer.conv), ssm = moved_type(memory, continuation, layer.ssm);
  outputs.values = run(conv, ssm);
  const DType own_conv = layer.conv != nullptr ? layer.conv->dtype() : conv;
  const DType own_ssm = layer.ssm != nullptr ? layer.ssm->dtype() : ssm;
  if (own_conv == conv && own_ssm == ssm) return outputs;
  const std::vector<float> unrounded = run(own_conv, own_ssm);
  for (std::size_t i = 0; i < unrounded.size(); ++i)
    outputs.rounding_error =
        std::max(outputs.rounding_error, std::abs(static_cast<double>(unrounded[i]) - outputs.values[i]));
  return outputs;
}

/// Query heads of the whole model, or where no model says how many there are one for each KV head.
std::int64_t num_query_heads(const RankTokens& tokens) {
  const AttentionSpec& whole = *tokens.set->attention;
  return whole.query_heads > 0 ? whole.query_heads : is_latent(whole.kind) ? 1 : whole.kv_heads;
}

/// Those that a rank computes, by KV head: an equal part of those that see it where several ranks hold it. Numbers
/// behind the model's are of heads that pad.
std::vector<std::int64_t> query_heads_of(const TransferRank& rank, const RankTokens& tokens) {
  const std::int64_t here = tokens.attention().query_heads;
  if (here == 0) return tokens.heads;
  const std::int64_t all = num_query_heads(tokens);
  const std::int64_t kv_heads = std::max<std::int64_t>(1, tokens.set->attention->kv_heads);
  const std::int64_t seeing = all / kv_heads, each = here / std::ssize(tokens.heads);
  const std::int64_t holders = rank.ranks % kv_heads == 0 ? rank.ranks / kv_heads : 1;
  std::vector<std::int64_t> heads;
  for (const std::int64_t head : tokens.heads)
    for (std::int64_t i = 0; i < each; ++i) {
      const std::int64_t of_head = rank.rank % holders * each + i;
      const bool pads = head >= kv_heads || of_head >= seeing;
      heads.push_back(pads ? all + rank.rank * here + std::ssize(heads) : head * seeing + of_head);
    }
  return heads;
}

/// In the order in which they are asked whether they claim a layer.
constexpr std::array continued_backends{AttentionBackend::paged, AttentionBackend::cascade, AttentionBackend::unified};

/// The ids of blocks up to that of the new token. Pre: has_room.
std::vector<std::int64_t> blocks_of(const RankMemory& memory, const RankTokens& tokens, std::int64_t request_tokens,
                                    const std::optional<StaleEntry>& stale) {
  const CachePlan& plan = *memory.rank->plan;
  const GroupPlan& group = group_of(plan, *tokens.view);
  std::vector<std::int64_t> blocks = *tokens.table;
  const std::int64_t next = next_free_ids(plan, request_tokens)[static_cast<std::size_t>(tokens.view->group)];
  if (next >= 0) {
    const std::vector<std::int64_t>& free = memory.pages.free_ids[group.arena.index()];
    blocks.push_back(free[static_cast<std::size_t>(next)] * group.entries_per_id);
  }
  for (std::int64_t& block : blocks) block = std::max<std::int64_t>(block, 0);  // those that no token sees any more
  if (stale && stale->tensor == tokens.name) blocks[static_cast<std::size_t>(stale->position)] = stale->ids.front();
  return blocks;
}

/// (token 1, head, channel) of K or V of the new token on the rank's heads.
std::vector<float> new_rows(const RankTokens& tokens, const Continuation& continuation, bool is_value,
                            std::int64_t channels) {
  const std::uint64_t key = key_of(continuation.seed, tokens.name);
  const DType computed = continuation.from_types->at(tokens.name);
  KvRows rows(tokens.attention(), computed);
  std::vector<float> values;
  for (const std::int64_t head : tokens.heads) {
    const std::span<const float> row =
        rows.values({key, continuation.request_tokens, head, is_value}, channels);
    values.insert(values.end(), row.begin(), row.end());
  }
  if (!tokens.attention().format) round_elements(computed, values);
  return values;
}

std::optional<LayerOutputs> decode(const RankMemory& memory, const Continuation& continuation,
                                   const RankTokens& tokens, const std::optional<StaleEntry>& stale,
                                   RankOutputs& all) {
  const std::int64_t position = continuation.request_tokens;
  if (!has_room(*memory.rank, memory.pages, tokens, position)) {
    ++all.without_room;
    return std::nullopt;
  }
  std::vector<std::int64_t> blocks = blocks_of(memory, tokens, position, stale);
  const AttentionGeometry& attention = tokens.attention();
  const std::vector<std::int64_t> heads = query_heads_of(*memory.rank, tokens);
  AttentionTensors tensors;
  tensors.num_query_heads = std::ssize(heads);
  tensors.key = memory.pools.tensor(*tokens.view, tokens.key);
  tensors.value = memory.pools.tensor(*tokens.view, tokens.value);
  tensors.key_codec = tensors.value_codec = {.format = attention.format};
  tensors.mask = tokens.mask;
  tensors.scale = 1 / (std::sqrt(static_cast<double>(tensors.head_size_k())) * drawn_scale(attention));
  const std::int64_t columns = std::ssize(blocks), block = tokens.spec->block_size_tokens;
  auto common = std::make_shared<const CommonAttentionMetadata>(
      make_metadata(std::vector<std::int64_t>{1}, std::vector<std::int64_t>{position + 1}, std::move(blocks), columns,
                    block, tensors.mask));
  const std::vector<std::int64_t> slots = common->slot_mapping;
  BackendOptions options;
  options.paged.threads = 0;
  // Products of bf16 add up in another order than those of other types; sides of two types are compared by one.
  if (best_simd_path() > SimdPath::avx512) options.paged.simd = SimdPath::avx512;
  const GroupBatch batch{std::move(common), tensors.shape(), 0, {true}};
  const std::vector<float> key_new = new_rows(tokens, continuation, false, tensors.head_size_k());
  const std::vector<float> value_new =
      tokens.has_values ? new_rows(tokens, continuation, true, tensors.head_size_v())
                        : std::vector<float>(key_new.begin(), key_new.begin() + tensors.head_size_v());
  std::vector<float> query(heads.size() * static_cast<std::size_t>(tensors.head_size_k()));
  for (std::size_t i = 0; i < heads.size(); ++i)
    draw_values(mix(drawn_key(continuation.seed, tokens.name, Drawn::queries), static_cast<std::uint64_t>(heads[i])),
                std::span(query).subspan(i * static_cast<std::size_t>(tensors.head_size_k()),
                                         static_cast<std::size_t>(tensors.head_size_k())));
  tensors.query = query;
  tensors.key_new = key_new;
  tensors.value_new = value_new;
  std::unique_ptr<const BackendMetadata> planned;
  for (const AttentionBackend backend : continued_backends) {
    auto reason = unsupported(backend, features_of(tensors, *batch.common));
    if (!reason) {
      planned = build_metadata(backend, batch, options);
      break;
    }
    all.declined = std::move(*reason);
  }
  if (!planned) return std::nullopt;
  all.backends.insert(planned->backend());
  const KeptTokenSlot kept(memory, tokens, slots.front());
  write_tokens(tensors.key, slots, key_new, tensors.key_codec);
  if (tokens.has_values) write_tokens(tensors.value, slots, value_new, tensors.value_codec);
  LayerOutputs outputs{tokens.name, {{"query heads", num_query_heads(tokens), tensors.head_size_v()}}, {}, {}};
  for (const std::int64_t head : heads)
    for (std::int64_t channel = 0; channel < tensors.head_size_v(); ++channel)
      outputs.columns.push_back(head * tensors.head_size_v() + channel);
  outputs.values = planned->run(tensors).output.out;
  outputs.is_exact = planned->backend() == AttentionBackend::paged;
  return outputs;
}

}  // namespace

bool can_decode(const RankTokens& tokens) {
  return tokens.name.kind == CachedKind::attention && has_values(tokens.attention()) && tokens.has_rows();
}

bool has_room(const TransferRank& rank, const HeldPages& pages, const RankTokens& tokens,
              std::int64_t request_tokens) {
  const std::int64_t next = next_free_ids(*rank.plan, request_tokens)[static_cast<std::size_t>(tokens.view->group)];
  return next < std::ssize(pages.free_ids[group_of(*rank.plan, *tokens.view).arena.index()]);
}

std::vector<std::int64_t> next_free_ids(const CachePlan& plan, std::int64_t request_tokens) {
  std::vector<std::int64_t> taken(plan.arenas.size(), 0), next;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (!spec.attention || request_tokens % spec.block_size_tokens != 0)
      next.push_back(-1);
    else
      next.push_back(group.shares_table ? next.back() : taken[group.arena.index()]++);
  }
  return next;
}

RankOutputs continue_rank(const RankMemory& memory, const Continuation& continuation,
                          const std::optional<StaleEntry>& stale) {
  const bool is_stale_here = stale && memory.side == CanarySide::to && stale->rank == memory.rank->number;
  const std::optional<StaleEntry> here = is_stale_here ? stale : std::nullopt;
  RankOutputs outputs;
  const std::vector<LayerState> states = continued_states(*memory.rank, continuation.layers);
  outputs.states.resize(states.size());
  parallel_for(states.size(), [&](std::size_t i) {
    outputs.states[i] = continue_state(memory, continuation, states[i], here);
  });
  for (const RankTokens& tokens : memory.rank->tokens) {
    if (!can_decode(tokens) || !continuation.layers.contains(tokens.name)) continue;
    if (auto layer = decode(memory, continuation, tokens, here, outputs))
      outputs.attention.push_back(std::move(*layer));
  }
  return outputs;
}

}  // namespace hybridkv
