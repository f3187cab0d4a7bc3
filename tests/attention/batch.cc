#include "tests/attention/batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "attention/cache_write.h"
#include "base/convert.h"
#include "base/npy.h"
#include "test_paths.h"

namespace hybridkv::test {

std::vector<bool> Batch::used_slots() const {
  std::vector<bool> used(num_slots());
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    for (std::int64_t position = 0; position < metadata.seq_lens[request]; ++position)
      used[metadata.block(request, position / metadata.block_size_tokens) * metadata.block_size_tokens +
           position % metadata.block_size_tokens] = true;
  return used;
}

Batch Batch::with_decodes(bool decodes) const {
  Batch result = *this;
  std::fill(result.is_decode.begin(), result.is_decode.end(), decodes);
  return result;
}

PagedCache lay_out(const Batch& batch, KvViewSpec how, std::int64_t layer, const KvCodec& codec) {
  how.num_blocks = batch.num_blocks;
  how.block_size_tokens = batch.metadata.block_size_tokens;
  if (how.kernel_block_size_tokens == 0) how.kernel_block_size_tokens = how.block_size_tokens;
  how.kv_heads = batch.num_kv_heads;
  how.head_size_k = stored_bytes(codec, how.dtype, batch.head_size_k) / element_bytes(how.dtype);
  how.head_size_v = stored_bytes(codec, how.dtype, batch.head_size_v) / element_bytes(how.dtype);
  if (how.page_bytes == 0) {
    const std::int64_t channels =
        how.form == BackendForm::mla ? how.head_size_k : how.head_size_k + how.head_size_v;
    how.page_bytes = how.pack_size * how.block_size_tokens * how.kv_heads * channels * element_bytes(how.dtype);
  }
  PagedCache cache;
  cache.memory.resize((how.num_blocks * how.page_bytes + 3) / 4);
  const auto bytes = std::as_writable_bytes(std::span(cache.memory));
  std::memset(bytes.data(), 0xff, bytes.size());
  const auto [key, value] =
      key_value_layouts(how.form, kv_layouts(how)[layer], how.head_size_k, how.head_size_v);
  cache.codec = codec;
  cache.key = make_view(bytes, how.dtype, key);
  cache.value = make_view(bytes, how.dtype, value);
  std::vector<std::int64_t> slots(batch.num_slots());
  std::iota(slots.begin(), slots.end(), 0);
  write_tokens(cache.key, slots, batch.key_cache, codec);
  if (how.form != BackendForm::mla) write_tokens(cache.value, slots, batch.value_cache, codec);
  return cache;
}

AttentionInputs inputs_of(const Batch& batch, const PagedCache& cache) {
  return {{.num_query_heads = batch.num_query_heads, .query = batch.query, .key_new = batch.key_new,
           .value_new = batch.value_new, .key = cache.key, .value = cache.value, .scale = batch.scale,
           .key_codec = cache.codec, .value_codec = cache.codec},
          std::make_shared<const CommonAttentionMetadata>(batch.metadata),
          batch.is_decode};
}

PagedCache lay_out_plain(const Batch& batch) {
  const bool equal_sizes = batch.head_size_k == batch.head_size_v;
  return lay_out(batch, {.form = equal_sizes ? BackendForm::paged : BackendForm::diff_kv, .dtype = DType::fp32});
}

AttentionOutput<double> reference(const Batch& batch, const KeyFilter& sees) {
  const PagedCache cache = lay_out_plain(batch);
  return reference_attention(inputs_of(batch, cache), sees);
}

std::vector<UnifiedOptions> all_ways() {
  std::vector<UnifiedOptions> ways;
  for (const MergeMode merge : {MergeMode::online, MergeMode::offline}) {
    ways.push_back({.slice_tokens = 3, .shared_bias = SharedBiasMode::full, .merge = merge});
    ways.push_back({.shared_bias = SharedBiasMode::sparse, .unique_bias = UniqueBiasMode::gathered, .merge = merge});
    for (const std::int64_t chunk : {1, 4, 64}) ways.push_back({.chunk_blocks = chunk, .merge = merge});
  }
  return ways;
}

Batch rounded(Batch batch, DType dtype) {
  for (std::vector<float>* tensor : {&batch.key_cache, &batch.value_cache, &batch.key_new, &batch.value_new})
    round_elements(dtype, *tensor);
  return batch;
}

Batch encoded(Batch batch, const KvCodec& codec, DType dtype) {
  const auto pass = [&](std::vector<float>& rows, std::int64_t channels) {
    std::vector<std::byte> stored(static_cast<std::size_t>(stored_bytes(codec, dtype, channels)));
    for (std::size_t first = 0; first < rows.size(); first += channels) {
      encode_row(codec, dtype, std::span(rows).subspan(first, channels), stored.data());
      decode_row(codec, dtype, stored.data(), std::span(rows).subspan(first, channels));
    }
  };
  for (std::vector<float>* keys : {&batch.key_cache, &batch.key_new}) pass(*keys, batch.head_size_k);
  for (std::vector<float>* values : {&batch.value_cache, &batch.value_new}) pass(*values, batch.head_size_v);
  return batch;
}

Batch with_latent(Batch batch) {
  const auto copy = [&](const std::vector<float>& keys, std::vector<float>& values) {
    for (std::int64_t row = 0; row < std::ssize(keys) / batch.head_size_k; ++row)
      std::copy_n(keys.begin() + row * batch.head_size_k, batch.head_size_v, values.begin() + row * batch.head_size_v);
  };
  copy(batch.key_cache, batch.value_cache);
  copy(batch.key_new, batch.value_new);
  return batch;
}

Batch mixed_batch(std::uint64_t seed) {
  return random_batch({.query_lens = {9, 5, 6, 1, 3, 1}, .context_lens = {0, 21, 30, 26, 23, 3},
                       .is_decode = {false, false, false, true, true, true}, .shared_prefix_blocks = 5,
                       .block_size = 4, .head_size_k = 16, .head_size_v = 24},
                      seed);
}

Batch random_batch(const BatchShape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<float>& values, std::int64_t count, float factor) {
    values.resize(count);
    for (float& value : values) value = factor * normal(random);
  };
  std::vector<std::int64_t> seq_lens;
  std::int64_t max_blocks = 0, num_blocks = 1 + shape.shared_prefix_blocks + shape.spare_blocks;
  for (std::size_t r = 0; r < shape.query_lens.size(); ++r) {
    seq_lens.push_back(shape.query_lens[r] + shape.context_lens[r]);
    const std::int64_t blocks = ceil_div(seq_lens.back(), shape.block_size);
    max_blocks = std::max(max_blocks, blocks);
    num_blocks += blocks;
  }
  // Block 0 is the null block, as in an engine.
  std::vector<std::int64_t> ids(num_blocks - 1);
  std::iota(ids.begin(), ids.end(), 1);
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<std::int64_t> table;
  std::int64_t next = shape.shared_prefix_blocks;
  for (std::size_t r = 0; r < seq_lens.size(); ++r) {
    const std::int64_t whole_context_blocks = shape.context_lens[r] / shape.block_size;
    const std::int64_t blocks = ceil_div(seq_lens[r], shape.block_size);
    for (std::int64_t column = 0; column < max_blocks; ++column) {
      const bool common = column < std::min(shape.shared_prefix_blocks, whole_context_blocks);
      table.push_back(column >= blocks ? 0 : common ? ids[column] : ids[next++]);
    }
  }
  Batch batch;
  batch.metadata = make_metadata(shape.query_lens, seq_lens, table, max_blocks, shape.block_size);
  batch.is_decode = shape.is_decode;
  batch.num_query_heads = shape.num_query_heads;
  batch.num_kv_heads = shape.num_kv_heads;
  batch.head_size_k = shape.head_size_k;
  batch.head_size_v = shape.head_size_v;
  batch.num_blocks = num_blocks;
  batch.scale = 1 / std::sqrt(static_cast<double>(shape.head_size_k));
  const std::int64_t tokens = batch.metadata.num_actual_tokens;
  fill(batch.query, tokens * shape.num_query_heads * shape.head_size_k, 1);
  fill(batch.key_cache, batch.num_slots() * shape.num_kv_heads * shape.head_size_k, 1);
  fill(batch.value_cache, batch.num_slots() * shape.num_kv_heads * shape.head_size_v, 1);
  const std::vector<bool> used = batch.used_slots();
  for (std::int64_t slot = 0; slot < batch.num_slots(); ++slot) {
    if (used[slot]) continue;
    for (float& value : batch.key_slot(slot)) value *= 1000;
    for (float& value : batch.value_slot(slot)) value *= 1000;
  }
  for (const std::int64_t slot : batch.metadata.slot_mapping) {
    const auto key = batch.key_slot(slot), value = batch.value_slot(slot);
    batch.key_new.insert(batch.key_new.end(), key.begin(), key.end());
    batch.value_new.insert(batch.value_new.end(), value.begin(), value.end());
  }
  return batch;
}

namespace {

std::vector<float> floats(const std::filesystem::path& file) {
  const NpyArray array = read_npy(file);
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

std::vector<double> doubles(const std::filesystem::path& file) {
  const NpyArray array = read_npy(file);
  const auto values = array.values<double>();
  return {values.begin(), values.end()};
}

}  // namespace

Case load_case(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(HYBRIDKV_TEST_DATA) / "attention" / name;
  Case result;
  result.name = name;
  std::ifstream(folder / "case.json") >> result.json;
  Batch& batch = result.batch;
  const NpyArray table = read_npy(folder / "block_table.npy");
  const std::vector<std::int64_t> query_lens = read_npy(folder / "query_lens.npy").integers();
  std::vector<std::int64_t> seq_lens = read_npy(folder / "context_lens.npy").integers();
  for (std::size_t r = 0; r < seq_lens.size(); ++r) seq_lens[r] += query_lens[r];
  batch.metadata = make_metadata(query_lens, seq_lens, table.integers(), table.shape[1], result.json["block_size"]);
  batch.is_decode = result.json["is_decode"].get<std::vector<bool>>();
  batch.num_query_heads = result.json["num_heads"];
  batch.num_kv_heads = result.json["num_kv_heads"];
  batch.head_size_k = batch.head_size_v = result.json["head_size"];
  batch.num_blocks = result.json["num_blocks"];
  batch.scale = result.json["scale"];
  batch.query = floats(folder / "q.npy");
  batch.key_new = floats(folder / "k_new.npy");
  batch.value_new = floats(folder / "v_new.npy");
  const std::vector<float> cache = floats(folder / "kv_cache.npy");
  const std::int64_t half_block = batch.metadata.block_size_tokens * batch.num_kv_heads * batch.head_size_k;
  for (std::int64_t block = 0; block < batch.num_blocks; ++block) {
    const auto key = cache.begin() + 2 * block * half_block, value = key + half_block;
    batch.key_cache.insert(batch.key_cache.end(), key, value);
    batch.value_cache.insert(batch.value_cache.end(), value, value + half_block);
  }
  result.expected = {doubles(folder / "out_ref_f64.npy"), doubles(folder / "lse_ref_f64.npy")};
  return result;
}

template <class Real>
double largest_error(std::span<const Real> values, std::span<const double> expected) {
  if (values.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], want = expected[i];
    if (value == want) continue;
    const double error = std::abs(value - want);
    largest = std::isfinite(error) ? std::max(largest, error) : std::numeric_limits<double>::infinity();
  }
  return largest;
}

template <class Real>
double largest_error(const AttentionOutput<Real>& result, const AttentionOutput<double>& expected) {
  return std::max(largest_error<Real>(result.out, expected.out), largest_error<Real>(result.lse, expected.lse));
}

template double largest_error(std::span<const float>, std::span<const double>);
template double largest_error(std::span<const double>, std::span<const double>);
template double largest_error(const AttentionOutput<float>&, const AttentionOutput<double>&);
template double largest_error(const AttentionOutput<double>&, const AttentionOutput<double>&);

}  // namespace hybridkv::test
