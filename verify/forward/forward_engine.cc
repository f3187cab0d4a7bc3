#include "verify/forward/forward_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "attention/cache_write.h"
#include "base/checked.h"
#include "base/convert.h"
#include "layout/slice.h"
#include "mamba/recurrent_forward.h"
#include "verify/forward/forward_encoder.h"
#include "verify/forward/forward_math.h"
#include "verify/layout/block_ops.h"

namespace hybridkv {

namespace {

/// Tokens of one matrix product of a recurrence: small heads gain nothing from longer ones.
constexpr std::int64_t scan_tokens = 16;

std::vector<std::int64_t> positions_of(std::span<const ForwardChunk> chunks) {
  std::vector<std::int64_t> positions;
  for (const ForwardChunk& chunk : chunks)
    for (std::int64_t position = chunk.computed; position < chunk.end; ++position) positions.push_back(position);
  return positions;
}

/// The batch of one attention group.
CommonAttentionMetadata metadata_of(std::span<const ForwardChunk> chunks, std::size_t group,
                                    std::int64_t block_size_tokens, const KeyMask& mask) {
  std::int64_t columns = 1;
  for (const ForwardChunk& chunk : chunks)
    columns = std::max<std::int64_t>(columns, static_cast<std::int64_t>(chunk.blocks->attention[group].size()));
  std::vector<std::int64_t> query_lens, seq_lens, table(chunks.size() * columns, 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    query_lens.push_back(chunks[i].end - chunks[i].computed);
    seq_lens.push_back(chunks[i].end);
    const std::vector<BlockId>& blocks = chunks[i].blocks->attention[group];
    std::copy(blocks.begin(), blocks.end(), table.begin() + static_cast<std::ptrdiff_t>(i * columns));
  }
  return make_metadata(query_lens, seq_lens, std::move(table), columns, block_size_tokens, mask);
}

BlockId block_at(const StateTable& table, std::int64_t index) {
  for (const StateEntry& entry : table.live)
    if (entry.index == index) return entry.block;
  throw std::logic_error("a request holds the states that its next tokens need");
}

}  // namespace

std::vector<std::vector<BlockId>> draft_blocks(const RequestBlocks& blocks) {
  std::vector<std::vector<BlockId>> result;
  for (const StateTable& table : blocks.states) {
    result.push_back({table.live.back().block});
    result.back().insert(result.back().end(), table.spare.begin(), table.spare.end());
  }
  return result;
}

ForwardEngine::ForwardEngine(const CachePlan& plan, const ForwardNetwork& network, std::vector<BoundView> views,
                             std::span<const AttentionBackend> backends, std::optional<ForwardFault> fault,
                             std::optional<Fault> layout_fault)
    : plan_(plan),
      network_(network),
      bound_(std::move(views)),
      fault_(fault),
      layout_fault_(layout_fault),
      pools_(plan) {
  for (const AttentionBackend backend : backends) work_.backends.push_back({.backend = backend});
  for (std::size_t pool = 0; pool < plan.pools.size(); ++pool)
    std::memset(pools_.pool(static_cast<std::int64_t>(pool)).data(), fault ? 0 : 0xff,
                static_cast<std::size_t>(plan.pools[pool].bytes));
  std::int64_t attention = 0, recurrent = 0, held = 0;
  for (const GroupPlan& group : plan.groups)
    if (group.shares_table) {
      kind_index_.push_back(kind_index_.empty() ? 0 : kind_index_.back());
    } else if (plan.spec_of(group).ring_tokens > 0 || plan.spec_of(group).is_cross()) {
      kind_index_.push_back(held++);  // of what a request holds beside: no network runs through a ring
    } else if (plan.spec_of(group).state) {
      kind_index_.push_back(recurrent);
      recurrent += group.ids_per_entry;
    } else {
      kind_index_.push_back(attention++);
    }
  for (const BoundView& view : bound_) {
    const SpecPlan& spec = plan.specs[view.view.spec];
    if (view.foreign || spec.draft || spec.auxiliary) continue;
    LayerViews& layer = views_[view.view.layer];
    if (spec.is_cross())
      layer.cross = &view;
    else if (view.view.tensor == "kv")
      layer.kv = &view;
    else
      (view.view.tensor == "conv" ? layer.state.conv : layer.state.ssm).push_back(&view);
  }
}

HeldState ForwardEngine::state(const LayerViews& views, const StateIds& entry, StateUse use) const {
  return HeldState(pools_, *plan_.spec_of(group_of(views)).state, views.state, entry, use);
}

std::int64_t ForwardEngine::state_index(std::int64_t tokens, std::int64_t block_size_tokens) const {
  const bool one_state = plan_.cache_mode == CacheMode::none || plan_.tree_pools || plan_.rows || plan_.pool_groups;
  return one_state ? 0 : ceil_div(tokens, block_size_tokens) - 1;
}

StateIds ForwardEngine::entry_at(const LayerViews& views, const RequestBlocks& blocks, std::int64_t index) const {
  return entry_of(views, [&](std::int64_t table) {
    return block_at(blocks.states[static_cast<std::size_t>(table)], index);
  });
}

StateIds ForwardEngine::draft_entry(const LayerViews& views, const std::vector<std::vector<BlockId>>& lists,
                                    std::size_t i) const {
  return entry_of(views, [&](std::int64_t table) { return lists[static_cast<std::size_t>(table)][i]; });
}

void ForwardEngine::copy_pages(std::span<const BlockCopy> copies) {
  for (const BlockCopy& copy : copies) {
    ++work_.page_copies;
    if (fault_ == ForwardFault::missed_page_copy) {
      ++work_.planted;
      continue;
    }
    if (plan_.strategy == Strategy::two_level) {  // an arena is a group there, and its blocks are places
      const GroupPlan& group = plan_.groups[static_cast<std::size_t>(copy.arena)];
      const auto from = pools_.place(group, group.first_lane, copy.from);
      std::copy(from.begin(), from.end(), pools_.place(group, group.first_lane, copy.to).begin());
      continue;
    }
    for (std::size_t i = 0; i < plan_.lanes.size(); ++i) {
      if (plan_.lanes[i].arena.value != copy.arena) continue;
      const LaneId lane{static_cast<std::int64_t>(i)};
      const auto from = pools_.piece(lane, copy.from);
      std::copy(from.begin(), from.end(), pools_.piece(lane, copy.to).begin());
    }
  }
}

void ForwardEngine::move_accepted(const std::vector<std::vector<BlockId>>& before,
                                  const std::vector<std::vector<BlockId>>& after, std::int64_t accepted_tokens) {
  for (const ForwardLayer& layer : network_.layers) {
    if (!layer.recurrent) continue;
    const LayerViews& views = views_.at(layer.number);
    std::vector<HeldState> held;
    std::vector<StateView> from;
    for (std::size_t i = 0; i < before[kind_index_[views.state.any().group]].size(); ++i) {
      held.push_back(state(views, draft_entry(views, before, i), StateUse::read));
      from.push_back(held.back().view());
    }
    copy_accepted(layer.recurrent->layer, {from, accepted_tokens},
                  state(views, draft_entry(views, after, 0), StateUse::write).view());
    ++work_.state_copies;
  }
}

void ForwardEngine::copy_state_slot(BlockId from, BlockId to) {
  for (const ForwardLayer& layer : network_.layers) {
    if (!layer.recurrent) continue;
    const LayerViews& views = views_.at(layer.number);
    copy_state(state(views, StateIds::of_slot(from), StateUse::read).view(),
               state(views, StateIds::of_slot(to), StateUse::write).view());
    ++work_.state_copies;
  }
}

std::vector<std::vector<std::byte>> ForwardEngine::save_state_slot(BlockId slot) {
  std::vector<std::vector<std::byte>> states;
  for (const ForwardLayer& layer : network_.layers) {
    if (!layer.recurrent) continue;
    states.push_back(saved_state(state(views_.at(layer.number), StateIds::of_slot(slot), StateUse::read).view()));
    ++work_.state_copies;
  }
  return states;
}

void ForwardEngine::load_state_slot(std::span<const std::vector<std::byte>> states, BlockId slot) {
  auto bytes = states.begin();
  for (const ForwardLayer& layer : network_.layers) {
    if (!layer.recurrent) continue;
    restore(state(views_.at(layer.number), StateIds::of_slot(slot), StateUse::write).view(), *bytes++);
    ++work_.state_copies;
  }
}

std::vector<std::span<std::byte>> ForwardEngine::pieces_of(std::span<const BlockId> cells) const {
  std::vector<std::span<std::byte>> pieces;
  for (const BlockId cell : cells)
    for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane)
      if (plan_.lanes[lane].arena.value == 0)
        pieces.push_back(pools_.piece(LaneId{static_cast<std::int64_t>(lane)}, cell));
  return pieces;
}

std::vector<std::byte> ForwardEngine::save_cells(std::span<const BlockId> cells) const {
  std::vector<std::byte> bytes;
  for (const std::span<std::byte> piece : pieces_of(cells)) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

void ForwardEngine::load_cells(std::span<const std::byte> bytes, std::span<const BlockId> cells) {
  for (const std::span<std::byte> piece : pieces_of(cells)) {
    std::copy_n(bytes.begin(), piece.size(), piece.begin());
    bytes = bytes.subspan(piece.size());
  }
}

void ForwardEngine::zero(const LayerViews& views, const StateIds& entry) {
  {
    const HeldState fresh = state(views, entry, StateUse::write);
    const std::vector<std::byte> held = saved_state(fresh.view());
    const bool is_dirty = std::any_of(held.begin(), held.end(), [](std::byte byte) { return byte != std::byte{0}; });
    work_.zeroed_dirty_states += is_dirty;
    if (fault_ == ForwardFault::skip_zeroing) {
      work_.planted += is_dirty;
      return;
    }
    zero_state(fresh.view());
  }
  if (layout_fault_ != Fault::zero_full_page) return;
  // A whole page from the last tensor's own offset reaches into the next page.
  const BoundView& last = views.state.last();
  const std::vector<BlockId>& ids = views.state.ssm.empty() ? entry.conv : entry.ssm;
  zero_page_from_offset(pools_, last, ids[static_cast<std::size_t>(last.view.piece)],
                        plan_.lanes[last.view.lane.index()].bytes);
}

void ForwardEngine::prepare_state(const LayerViews& views, const ForwardChunk& part, std::int64_t from_index,
                                  std::int64_t to_index) {
  const StateIds to = entry_at(views, *part.blocks, to_index);
  if (part.computed == 0) return zero(views, to);
  const StateIds from = entry_at(views, *part.blocks, from_index);
  if (from == to) return;
  ++work_.state_copies;
  const HeldState target = state(views, to, StateUse::write);
  if (fault_ != ForwardFault::missed_state_copy)
    return copy_state(state(views, from, StateUse::read).view(), target.view());
  ++work_.planted;
  zero_state(target.view());
}

const ForwardEngine::GroupStep& ForwardEngine::group_step(Step& step, std::int64_t group,
                                                          const AttentionGeometry& a) const {
  const std::pair key{group, a.query_heads};
  if (const auto found = step.groups.find(key); found != step.groups.end()) return found->second;
  const AttentionShape shape{a.query_heads, a.kv_heads, a.head_size_k, a.head_size_v,
                             key_mask(a.kind, a.window_tokens)};
  const std::int64_t block = plan_.spec_of(plan_.groups[static_cast<std::size_t>(group)]).block_size_tokens;
  const auto of_kind = static_cast<std::size_t>(kind_index_[group]);
  const bool crosses = a.kind == AttentionKind::cross;
  auto common = std::make_shared<const CommonAttentionMetadata>(
      crosses ? encoder_metadata(step.chunks, of_kind, block,
                                 seen_of_encoder(network_.encoder_tokens, block, fault_),
                                 fault_ == ForwardFault::foreign_encoder)
              : metadata_of(step.chunks, of_kind, block, shape.mask));
  std::vector<bool> is_decode(crosses ? step.positions.size() : 0, true);  // all are read back from the cache
  if (!crosses)
    for (const ForwardChunk& chunk : step.chunks) is_decode.push_back(chunk.is_decode);
  GroupStep made{make_group_batch(std::move(common), shape, std::move(is_decode)), {}};
  BackendOptions options;
  options.unified.unique_bias = UniqueBiasMode::gathered;
  for (const BackendWork& work : work_.backends)
    made.planned.push_back(build_metadata(work.backend, made.batch, options));
  return step.groups.emplace(key, std::move(made)).first->second;
}

std::vector<float> ForwardEngine::run_backends(const GroupStep& group, const AttentionTensors& tensors,
                                               std::int64_t layer) {
  std::optional<AttentionOutput<float>> driving;
  AttentionBackend driver = AttentionBackend::reference;
  for (std::size_t i = 0; i < group.planned.size(); ++i) {
    BackendWork& work = work_.backends[i];
    if (auto reason = group.planned[i]->declines(tensors)) {
      if (work.declined++ == 0) work.reason = std::move(*reason);
      continue;
    }
    ++work.batches;
    AttentionOutput<float> output = group.planned[i]->run(tensors).output;
    if (driving) {
      work.note_difference(output, *driving, driver, layer);
    } else {
      driving = std::move(output);
      driver = work.backend;
    }
  }
  if (!driving) driving = build_metadata(AttentionBackend::reference, group.batch)->run(tensors).output;
  return std::move(driving->out);
}

std::int64_t ForwardEngine::read_by(const ForwardLayer& layer) {
  const std::int64_t source = layer.reads.value_or(layer.number);
  if (!layer.reads || fault_ != ForwardFault::foreign_source) return source;
  const auto is_like = [&](const ForwardLayer& other) {
    if (!other.attention || other.reads || other.number == source || other.number > layer.number) return false;
    AttentionGeometry geometry = other.attention->geometry;
    geometry.query_heads = layer.attention->geometry.query_heads;
    return geometry == layer.attention->geometry;
  };
  const auto other = std::find_if(network_.layers.begin(), network_.layers.end(), is_like);
  if (other == network_.layers.end()) return source;
  ++work_.planted;
  return other->number;
}

void ForwardEngine::store_rows(const ForwardLayer& layer, AttentionTensors& tensors,
                               std::span<const std::int64_t> slots, Step& step, const std::vector<float>& h) const {
  const AttentionWeights& weights = *layer.attention;
  const AttentionGeometry& a = weights.geometry;
  auto& [key, value] = step.rows[layer.number];
  key = project(h, weights.key, network_.width);
  rotate_heads(key, a.kv_heads, a, step.positions);
  value = project(h, weights.value, network_.width);  // mla: none yet
  write_tokens(tensors.key, slots, key, tensors.key_codec);
  if (a.kind != AttentionKind::mla) write_tokens(tensors.value, slots, value, tensors.value_codec);
  // What was just stored takes part in this step as it will be read back in the next one.
  round_rows(tensors.key_codec, a.dtype, a.head_size_k, key);
  round_rows(tensors.value_codec, a.dtype, a.head_size_v, value);
  if (a.kind != AttentionKind::mla) return;
  for (std::size_t token = 0; token < step.positions.size(); ++token)
    value.insert(value.end(), key.begin() + static_cast<std::ptrdiff_t>(token * a.head_size_k),
                 key.begin() + static_cast<std::ptrdiff_t>(token * a.head_size_k + a.head_size_v));
}

void ForwardEngine::attend(const ForwardLayer& layer, Step& step, const std::vector<float>& h, std::vector<float>& x) {
  const AttentionWeights& weights = *layer.attention;
  const AttentionGeometry& a = weights.geometry;
  const std::int64_t source = read_by(layer);
  const BoundView& kv = *views_.at(source).kv;
  const auto [key_layout, value_layout] = key_value_bytes(kv, *plan_.specs[kv.view.spec].attention);
  std::vector<float> query = project(h, weights.query, network_.width);
  rotate_heads(query, a.query_heads, a, step.positions);
  const GroupStep& group = group_step(step, kv.group, a);
  AttentionTensors tensors;
  tensors.mask = group.batch.shape.mask;
  tensors.key = pools_.tensor(kv, key_layout);
  tensors.value = pools_.tensor(kv, value_layout);
  tensors.key_codec = weights.key_codec;
  tensors.value_codec = weights.value_codec;
  if (!layer.reads) store_rows(layer, tensors, group.batch.common->slot_mapping, step, h);
  tensors.num_query_heads = a.query_heads;
  tensors.query = query;
  tensors.key_new = step.rows.at(source).key;
  tensors.value_new = step.rows.at(source).value;
  tensors.scale = score_scale(a);
  add_rows(x, project(run_backends(group, tensors, layer.number), weights.output, a.query_heads * a.head_size_v));
}

void ForwardEngine::attend_to_encoder(const ForwardLayer& layer, Step& step, const std::vector<float>& h,
                                      std::vector<float>& x) {
  const AttentionWeights& weights = *layer.cross;
  const AttentionGeometry& a = weights.geometry;
  const BoundView& kv = *views_.at(layer.number).cross;
  const auto [key_layout, value_layout] = key_value_bytes(kv, *plan_.specs[kv.view.spec].attention);
  const GroupStep& group = group_step(step, kv.group, a);
  AttentionTensors tensors;
  tensors.mask = group.batch.shape.mask;
  tensors.key = pools_.tensor(kv, key_layout);
  tensors.value = pools_.tensor(kv, value_layout);
  tensors.key_codec = weights.key_codec;
  tensors.value_codec = weights.value_codec;
  const std::int64_t block = group.batch.common->block_size_tokens;
  std::vector<float> keys, values;  // of the last token of the encoder for every query, which no backend reads
  for (const ForwardChunk& chunk : step.chunks) {
    const std::vector<double> output = encoder_output(network_, chunk.contents->front());
    const std::vector<float> rows(output.begin(), output.end());
    std::vector<float> key = project(rows, weights.key, network_.width);
    std::vector<float> value = project(rows, weights.value, network_.width);
    if (chunk.computed == 0) {  // stored once, with the first tokens of the request
      const std::vector<BlockId>& blocks = chunk.blocks->held[static_cast<std::size_t>(kind_index_[kv.group])];
      const std::vector<std::int64_t> slots = encoder_slots(blocks, block, network_.encoder_tokens);
      write_tokens(tensors.key, slots, key, tensors.key_codec);
      write_tokens(tensors.value, slots, value, tensors.value_codec);
    }
    round_rows(tensors.key_codec, a.dtype, a.head_size_k, key);
    round_rows(tensors.value_codec, a.dtype, a.head_size_v, value);
    for (std::int64_t token = chunk.computed; token < chunk.end; ++token) {
      keys.insert(keys.end(), key.end() - a.kv_heads * a.head_size_k, key.end());
      values.insert(values.end(), value.end() - a.kv_heads * a.head_size_v, value.end());
    }
  }
  work_.planted += seen_of_encoder(network_.encoder_tokens, block, fault_) > network_.encoder_tokens;
  work_.planted += fault_ == ForwardFault::foreign_encoder && step.chunks.size() > 1;
  const std::vector<float> query = project(h, weights.query, network_.width);
  tensors.num_query_heads = a.query_heads;
  tensors.query = query;
  tensors.key_new = keys;
  tensors.value_new = values;
  tensors.scale = score_scale(a);
  add_rows(x, project(run_backends(group, tensors, layer.number), weights.output, a.query_heads * a.head_size_v));
}

void ForwardEngine::recur(const RecurrentProjection& weights, const LayerViews& views,
                          std::span<const ForwardChunk> chunks, const std::vector<float>& h, std::vector<float>& x) {
  const RecurrentLayer& layer = weights.layer;
  const std::int64_t block = plan_.spec_of(group_of(views)).block_size_tokens;
  const std::int64_t in = input_width(layer.spec), out = output_width(layer.spec);
  std::vector<float> inputs = project(h, weights.input, network_.width);
  round_elements(weights.conv_dtype, inputs);
  std::vector<float> outputs(inputs.size() / in * out);
  std::int64_t row = 0;
  for (const ForwardChunk& chunk : chunks) {
    const auto run = [&](std::int64_t from, std::int64_t to, auto&& part) {
      const std::int64_t first = row + from - chunk.computed;
      part(std::span<const float>(inputs).subspan(first * in, (to - from) * in),
           std::span(outputs).subspan(first * out, (to - from) * out));
    };
    if (chunk.holds_drafts) {
      const std::vector<std::vector<BlockId>> lists = draft_blocks(*chunk.blocks);
      std::vector<HeldState> held;
      std::vector<StateView> states;
      for (std::size_t i = 0; i < lists[kind_index_[views.state.any().group]].size(); ++i) {
        held.push_back(state(views, draft_entry(views, lists, i), StateUse::write));
        states.push_back(held.back().view());
      }
      run(chunk.computed, chunk.end, [&](std::span<const float> tokens, std::span<float> results) {
        run_draft_step(layer, tokens, {states, chunk.accepted_tokens}, results);
      });
    } else {
      // In mode all every multiple of the block keeps the state behind it; otherwise only the end of a chunk does, and
      // where the chunk says so one more. An exported state goes to the column before the one that runs to the end.
      ForwardChunk part = chunk;
      const std::int64_t last = state_index(chunk.end, block);
      const std::int64_t exported = fault_ == ForwardFault::late_export && chunk.blocks->exported_tokens > 0
                                        ? chunk.blocks->exported_tokens + 1
                                        : chunk.blocks->exported_tokens;
      std::int64_t column = state_index(chunk.computed, block);
      for (;;) {
        if (chunk.kept_slot != null_block_id && part.computed == chunk.kept_tokens) {
          copy_state(state(views, entry_at(views, *chunk.blocks, state_index(part.computed, block)),
                           StateUse::read).view(),
                     state(views, StateIds::of_slot(chunk.kept_slot), StateUse::write).view());
          ++work_.state_copies;
        }
        if (part.computed == chunk.end) break;
        part.end = plan_.keeps_every_boundary()
                       ? std::min(chunk.end, (part.computed / block + 1) * block)
                       : chunk.end;
        if (part.computed < chunk.kept_tokens) part.end = std::min(part.end, chunk.kept_tokens);
        const bool exports = part.computed < exported;
        if (exports) part.end = exported;
        const std::int64_t before = std::exchange(column, exports ? last - 1 : state_index(part.end, block));
        if (exports) {
          ++work_.exported_states;
          work_.planted += fault_ == ForwardFault::late_export || fault_ == ForwardFault::wrong_export_column;
          if (fault_ == ForwardFault::wrong_export_column) column = last;
        }
        prepare_state(views, part, before, column);
        const HeldState place = state(views, entry_at(views, *chunk.blocks, column), StateUse::write);
        run(part.computed, part.end, [&](std::span<const float> tokens, std::span<float> results) {
          run_chunked(layer, tokens, place.view(), place.view(), scan_tokens, results);
        });
        part.computed = part.end;
      }
    }
    row += chunk.end - chunk.computed;
  }
  for (std::size_t first = 0; first < outputs.size(); first += out)
    limit_outputs(std::span(outputs).subspan(first, out));
  add_rows(x, project(outputs, weights.output, out));
}

std::vector<std::vector<float>> ForwardEngine::run(std::span<const ForwardChunk> chunks) {
  std::vector<float> x;
  for (const ForwardChunk& chunk : chunks)
    for (std::int64_t position = chunk.computed; position < chunk.end; ++position)
      for (const double value : embedding(network_, (*chunk.contents)[position], position))
        x.push_back(static_cast<float>(value));
  work_.tokens += static_cast<std::int64_t>(x.size()) / network_.width;
  Step step{chunks, positions_of(chunks), {}, {}};
  for (const ForwardLayer& layer : network_.layers) {
    const std::vector<float> h = normalised(x, network_.width);
    if (layer.attention) attend(layer, step, h, x);
    if (layer.cross) attend_to_encoder(layer, step, h, x);
    if (layer.recurrent) recur(*layer.recurrent, views_.at(layer.number), chunks, h, x);
  }
  x = normalised(x, network_.width);
  std::vector<std::vector<float>> results;
  auto first = x.begin();
  for (const ForwardChunk& chunk : chunks) {
    const auto count = static_cast<std::ptrdiff_t>((chunk.end - chunk.computed) * network_.width);
    results.emplace_back(first, first + count);
    first += count;
  }
  return results;
}

}  // namespace hybridkv
