#include "measure/attention_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "attention/backend.h"
#include "base/convert.h"
#include "base/huge_pages.h"
#include "base/random.h"
#include "measure/machine_rates.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr std::uint64_t seed = 35703;

/// Block ids 1, 2, … in an order that a pool has after a while.
std::vector<std::int64_t> shuffled_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 1);
  for (std::int64_t i = count - 1; i > 0; --i)
    std::swap(ids[i], ids[mix(seed, i) % static_cast<std::uint64_t>(i + 1)]);
  return ids;
}

/// Sizes of the block table, which is made once they are known to fit.
struct TableSizes {
  std::int64_t columns = 0;     ///< blocks of the longest request
  std::int64_t num_ids = 0;     ///< blocks of all requests, shared ones once
  std::int64_t num_shared = 0;  ///< blocks of the common prefix
};

/// Blocks of the common prefix that a request has behind it.
std::int64_t shared_blocks(const AttentionWorkloadSpec& spec, std::int64_t query_len, std::int64_t seq_len) {
  return std::min(spec.shared_prefix_tokens, std::max<std::int64_t>(0, seq_len - query_len)) / spec.block_size_tokens;
}

TableSizes table_sizes(const AttentionWorkloadSpec& spec) {
  if (spec.block_size_tokens < 1)
    throw InputError(fmt::format("a block of {} tokens; it must have at least 1", spec.block_size_tokens));
  TableSizes sizes;
  Checked ids = 0;
  for (const BatchRun& run : spec.batch.runs) {
    const std::int64_t blocks = ceil_div(run.seq_len_tokens, spec.block_size_tokens);
    const std::int64_t shared = shared_blocks(spec, run.query_len_tokens, run.seq_len_tokens);
    sizes.columns = std::max(sizes.columns, blocks);
    sizes.num_shared = std::max(sizes.num_shared, shared);
    ids += Checked(run.count) * (blocks - shared);
  }
  sizes.num_ids = ids + sizes.num_shared;
  return sizes;
}

CommonAttentionMetadata page_batch(const AttentionWorkloadSpec& spec, const TableSizes& sizes) {
  const std::int64_t block = spec.block_size_tokens;
  const std::vector<std::int64_t> query_lens = spec.batch.query_lens(), seq_lens = spec.batch.seq_lens();
  const std::vector<std::int64_t> ids = shuffled_ids(sizes.num_ids);
  std::vector<std::int64_t> table;
  std::int64_t next = sizes.num_shared;
  for (std::size_t request = 0; request < seq_lens.size(); ++request) {
    const std::int64_t shared = shared_blocks(spec, query_lens[request], seq_lens[request]);
    const std::int64_t blocks = ceil_div(seq_lens[request], block);
    for (std::int64_t column = 0; column < sizes.columns; ++column)
      table.push_back(column >= blocks ? 0 : column < shared ? ids[column] : ids[next++]);
  }
  return make_metadata(query_lens, seq_lens, std::move(table), sizes.columns, block, spec.mask);
}

KvViewSpec view_spec(const AttentionWorkloadSpec& spec, std::int64_t num_blocks) {
  const std::int64_t channels =
      spec.form == BackendForm::mla ? spec.head_size_k : spec.head_size_k + spec.head_size_v;
  const std::int64_t page = Checked(spec.pack_size) * spec.block_size_tokens * spec.kv_heads * channels *
                            element_bytes(spec.dtype);
  return {.form = spec.form, .order = spec.order, .dtype = spec.dtype, .num_blocks = num_blocks,
          .block_size_tokens = spec.block_size_tokens, .kernel_block_size_tokens = spec.kernel_block_size_tokens,
          .kv_heads = spec.kv_heads, .head_size_k = spec.head_size_k, .head_size_v = spec.head_size_v,
          .pack_size = spec.pack_size, .page_bytes = std::max(spec.page_bytes, page)};
}

void fill(std::vector<float>& values, std::int64_t count, std::uint64_t key) {
  values.resize(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = unit_value(mix(key, i));
}

/// Positions that some token of the request sees.
std::pair<std::int64_t, std::int64_t> seen_of(const CommonAttentionMetadata& metadata, std::int64_t request,
                                              const KeyMask& mask) {
  return {std::min(metadata.seq_lens[request], mask.first_visible(metadata.position(request, 0))),
          metadata.query_len(request) > 0 ? metadata.seq_lens[request] : 0};
}

}  // namespace

AttentionWorkloadSpec workload_of(const CachePlan& plan, AttentionWorkloadSpec spec) {
  const SpecPlan* layer = primary_attention(plan);
  if (layer == nullptr || layer->role() != SpecRole::attention)
    throw SpecError("model.layers", "the model has no layer of full attention to time");
  const auto& attention = layer->attention;
  if (attention->format)
    throw SpecError("engine.kv_dtype", "backends compute on element types; take fp32, fp16, bf16 or fp8 to time them");
  if (attention->query_heads < 1)
    throw SpecError("model.layers", "the model does not say how many query heads it has; give --query-heads");
  spec.query_heads = attention->query_heads;
  spec.kv_heads = attention->kv_heads;
  spec.head_size_k = attention->head_size_k;
  spec.head_size_v = attention->head_size_v;
  spec.form = attention->form;
  spec.order = attention->order;
  spec.dtype = attention->dtype;
  spec.block_size_tokens = layer->block_size_tokens;
  spec.kernel_block_size_tokens = layer->kernel_block_size_tokens;
  spec.pack_size = layer->layers_per_page;
  spec.page_bytes = plan.page_bytes(primary_group(plan));
  return spec;
}

AttentionWorkload::AttentionWorkload(const AttentionWorkloadSpec& spec, ResidentBudget& budget)
    : pool_(0) {
  if (spec.kv_heads < 1 || spec.query_heads < 1 || spec.query_heads % spec.kv_heads != 0)
    throw InputError(fmt::format("{} query heads do not share {} KV heads evenly", spec.query_heads, spec.kv_heads));
  if (spec.form == BackendForm::mla && spec.kv_heads != 1)
    throw InputError(fmt::format("form mla keeps one latent per token, which is one KV head, not {}", spec.kv_heads));
  const TableSizes sizes = table_sizes(spec);
  const std::int64_t num_blocks = sizes.num_ids + 1;  // and the null block
  const KvViewSpec how = view_spec(spec, num_blocks);
  const auto [key, value] = key_value_layouts(spec.form, kv_layouts(how)[spec.pack_size / 2], spec.head_size_k,
                                              spec.head_size_v);
  const std::int64_t channels = spec.form == BackendForm::mla ? spec.head_size_k : spec.head_size_k + spec.head_size_v;
  const std::int64_t position_bytes = Checked(spec.kv_heads) * channels * element_bytes(spec.dtype);
  const std::int64_t tokens = spec.batch.num_tokens();
  const Checked table_bytes = Checked(spec.batch.num_reqs()) * sizes.columns * 16 + Checked(num_blocks) * 16;
  const Checked tensor_bytes =
      Checked(tokens) * 4 * (Checked(spec.query_heads) * spec.head_size_k + Checked(spec.kv_heads) * channels);
  const std::int64_t resident =
      Checked(num_blocks) * spec.block_size_tokens * position_bytes + table_bytes + tensor_bytes;
  charge_.emplace(budget, resident, fmt::format("a batch of {} with its cache", to_string(spec.batch)));
  inputs_.metadata = std::make_shared<const CommonAttentionMetadata>(page_batch(spec, sizes));
  const CommonAttentionMetadata& metadata = *inputs_.metadata;
  inputs_.is_decode = decodes_by_length(metadata, 1);

  pool_ = Pool(Checked(num_blocks) * how.page_bytes);
  advise_huge_pages(pool_.bytes());
  inputs_.key = make_view(pool_.bytes(), spec.dtype, key);
  inputs_.value = make_view(pool_.bytes(), spec.dtype, value);
  inputs_.num_query_heads = spec.query_heads;
  inputs_.scale = 1 / std::sqrt(static_cast<double>(spec.head_size_k));
  inputs_.mask = spec.mask;
  write_cache(spec);
  fill(query_, tokens * spec.query_heads * spec.head_size_k, 1);
  if (element_bytes(spec.dtype) == 2) {  // the type of the model, in which engines compute queries too
    std::vector<std::byte> rounded(query_.size() * 2);
    store_elements(rounded.data(), spec.dtype, query_);
    load_elements(rounded.data(), spec.dtype, query_);
  }
  inputs_.query = query_;

  std::vector<std::int64_t> seen_positions(num_blocks);
  const std::int64_t block = spec.block_size_tokens;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const auto [first, last] = seen_of(metadata, request, spec.mask);
    for (std::int64_t column = first / block; column * block < last; ++column) {
      std::int64_t& positions = seen_positions[metadata.block(request, column)];
      const std::int64_t from = std::max<std::int64_t>(0, first - column * block);
      positions = std::max(positions, std::min(block, last - column * block) - from);
    }
    for (std::int64_t i = 0; i < metadata.query_len(request); ++i) {
      const std::int64_t position = metadata.position(request, i);
      const std::int64_t keys = std::max<std::int64_t>(0, position + 1 - spec.mask.first_visible(position));
      flops_ += 2.0 * static_cast<double>(keys * spec.query_heads * (spec.head_size_k + spec.head_size_v));
    }
  }
  kv_bytes_ = std::accumulate(seen_positions.begin(), seen_positions.end(), std::int64_t{0}) * position_bytes;
}

void AttentionWorkload::write_cache(const AttentionWorkloadSpec& spec) {
  // Rows are pieces of one pattern that was converted once: a cache of gigabytes shall not take longer than its timing.
  constexpr std::int64_t pattern_length = 1 << 16;
  const std::int64_t element = element_bytes(spec.dtype);
  std::vector<float> values;
  fill(values, pattern_length + std::max(spec.head_size_k, spec.head_size_v), 2);
  std::vector<std::byte> pattern(values.size() * element);
  store_elements(pattern.data(), spec.dtype, values);
  const auto write = [&](const TensorView& view, std::int64_t slot, std::int64_t head, std::uint64_t which) {
    const std::int64_t b = spec.kernel_block_size_tokens;
    const auto from = static_cast<std::int64_t>(mix(mix(slot, head), which) % pattern_length);
    std::memcpy(view.address({slot / b, slot % b, head, 0}), pattern.data() + from * element,
                view.layout.extent("channel") * element);
  };
  const CommonAttentionMetadata& metadata = *inputs_.metadata;
  std::vector<bool> written(inputs_.key.layout.extent("block"));  // at least as many as blocks
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    for (std::int64_t column = 0; column * spec.block_size_tokens < metadata.seq_lens[request]; ++column) {
      const std::int64_t id = metadata.block(request, column);
      if (written[id]) continue;
      written[id] = true;
      for (std::int64_t slot = id * spec.block_size_tokens; slot < (id + 1) * spec.block_size_tokens; ++slot)
        for (std::int64_t head = 0; head < spec.kv_heads; ++head) {
          write(inputs_.key, slot, head, 3);
          if (spec.form != BackendForm::mla) write(inputs_.value, slot, head, 4);
        }
    }
  const auto read_new = [&](const TensorView& view, std::vector<float>& rows) {
    const std::int64_t channels = view.layout.extent("channel"), b = spec.kernel_block_size_tokens;
    rows.resize(metadata.num_actual_tokens * spec.kv_heads * channels);
    for (std::int64_t token = 0; token < metadata.num_actual_tokens; ++token) {
      const std::int64_t slot = metadata.slot_mapping[token];
      for (std::int64_t head = 0; head < spec.kv_heads && slot >= 0; ++head)
        load_elements(view.address({slot / b, slot % b, head, 0}), spec.dtype,
                      std::span(rows).subspan((token * spec.kv_heads + head) * channels, channels));
    }
  };
  read_new(inputs_.key, key_new_);
  read_new(inputs_.value, value_new_);
  inputs_.key_new = key_new_;
  inputs_.value_new = value_new_;
}

}  // namespace hybridkv
