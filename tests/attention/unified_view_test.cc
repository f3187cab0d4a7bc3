#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attention/cache_write.h"
#include "base/pool.h"
#include "tests/attention/batch.h"
#include "tests/attention/run_backend.h"

namespace hybridkv::test {
namespace {

/// A mixed batch whose blocks of 16 split into kernel blocks; equal head sizes, so that every form takes it.
Batch square_batch() {
  return random_batch({.query_lens = {5, 1, 2}, .context_lens = {19, 40, 35}, .is_decode = {false, true, true},
                       .shared_prefix_blocks = 1, .block_size = 16, .num_query_heads = 6, .num_kv_heads = 2,
                       .head_size_k = 8, .head_size_v = 8},
                      21);
}

/// Every view the planner can emit for the batch: forms, orders, packs, kernel blocks, padded pages.
std::vector<KvViewSpec> all_views(const Batch& batch, DType dtype) {
  std::vector<KvViewSpec> views;
  const std::int64_t layer_bytes =
      batch.metadata.block_size_tokens * batch.num_kv_heads * 2 * batch.head_size_k * element_bytes(dtype);
  for (const BackendForm form : {BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                                 BackendForm::kv_first, BackendForm::kv_first_unordered}) {
    for (const PhysicalOrder order : {PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major}) {
      const bool has_head_major = form == BackendForm::paged || form == BackendForm::kv_first;
      if (order == PhysicalOrder::head_major && !has_head_major) continue;
      for (const std::int64_t pack : {1, 3}) {
        for (const std::int64_t kernel_block : {16, 4}) {
          for (const std::int64_t padding : {0, 1}) {
            const std::int64_t grain = pack * 16 / kernel_block * element_bytes(dtype);
            views.push_back({.form = form, .order = order, .dtype = dtype, .kernel_block_size_tokens = kernel_block,
                             .pack_size = pack, .page_bytes = pack * layer_bytes + padding * 7 * grain});
          }
        }
      }
    }
  }
  return views;
}

template <class Real>
bool identical(const AttentionOutput<Real>& a, const AttentionOutput<Real>& b) {
  return a.out == b.out && a.lse == b.lse;
}

TEST_CASE("law: every view gives the bits of the plain one, any element type") {
  const Batch plain = square_batch();
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2, DType::int8}) {
    const Batch batch = rounded(plain, dtype);
    const UnifiedOptions options{.slice_tokens = 2, .chunk_blocks = 2};
    const auto expected = unified<float>(batch, options).output;
    const auto expected_reference = reference(batch);
    CHECK(largest_error(expected, expected_reference) <= fp32_tolerance * (dtype == DType::int8 ? 10 : 1));
    const std::vector<KvViewSpec> views = all_views(batch, dtype);
    CHECK(views.size() == 112);
    for (const KvViewSpec& view : views) {
      const std::int64_t layer = view.pack_size - 1;
      // The cache in the view holds the unrounded values as far as its element type can.
      const PagedCache cache = lay_out(plain, view, layer);
      CAPTURE(to_string(cache.key.layout));
      CHECK(identical(unified_attention<float>(inputs_of(batch, cache), options).output, expected));
      CHECK(identical(reference_attention(inputs_of(batch, cache)), expected_reference));
    }
  }
}

TEST_CASE("law: one latent per token serves as K and V") {
  const Batch batch = with_latent(random_batch(
      {.query_lens = {5, 1, 2}, .context_lens = {19, 40, 35}, .is_decode = {false, true, true},
       .shared_prefix_blocks = 1, .num_query_heads = 4, .num_kv_heads = 1, .head_size_k = 24, .head_size_v = 16},
      22));
  const auto expected = unified<float>(batch).output;
  CHECK(largest_error(expected, reference(batch)) <= fp32_tolerance);
  for (const PhysicalOrder order : {PhysicalOrder::nhd, PhysicalOrder::head_major}) {
    const PagedCache cache = lay_out(batch, {.form = BackendForm::mla, .order = order, .dtype = DType::fp32,
                                             .kernel_block_size_tokens = 8, .pack_size = 2},
                                     1);
    CHECK(identical(unified_attention<float>(inputs_of(batch, cache)).output, expected));
  }
}

TEST_CASE("fault: a view with a wrong stride or another layer of the pack gives another result") {
  const Batch batch = square_batch();
  const auto expected = reference(batch);
  const KvViewSpec view{.order = PhysicalOrder::hnd, .dtype = DType::fp32, .kernel_block_size_tokens = 4,
                        .pack_size = 3};
  const PagedCache cache = lay_out(batch, view, 1);
  CHECK(largest_error(unified_attention<double>(inputs_of(batch, cache)).output, expected) <= fp64_tolerance);
  // Token and head strides swapped, as from the shape of the other order.
  PagedCache wrong = cache;
  for (TensorView* tensor : {&wrong.key, &wrong.value}) {
    std::vector<Axis> axes(tensor->layout.axes().begin(), tensor->layout.axes().end());
    std::swap(axes[1].stride, axes[2].stride);
    tensor->layout = Layout(axes, tensor->layout.offset());
  }
  CHECK(largest_error(unified_attention<double>(inputs_of(batch, wrong)).output, expected) > 0.1);
  // The neighbouring layer, never written: 0xff bytes are NaN.
  PagedCache neighbour = cache;
  const std::int64_t layer_elements = 4 * 2 * 2 * 8;
  for (TensorView* tensor : {&neighbour.key, &neighbour.value})
    tensor->layout = Layout(tensor->layout.axes(), tensor->layout.offset() - layer_elements);
  CHECK(std::isinf(largest_error(unified_attention<double>(inputs_of(batch, neighbour)).output, expected)));
}

TEST_CASE("edge: blocks beyond element 2^31 of a pool give the same bits") {
  const Batch batch = rounded(square_batch(), DType::bf16);
  const auto expected = unified<float>(batch).output;
  // 5 layers a page of 16 * 2 * 16 * 2 * 5 = 5120 bytes; 1 million pages are 2.6 * 10^9 elements.
  KvViewSpec view{.dtype = DType::bf16, .num_blocks = 1'000'000, .block_size_tokens = 16,
                  .kernel_block_size_tokens = 4, .kv_heads = 2, .head_size_k = 8, .head_size_v = 8, .pack_size = 5,
                  .page_bytes = 5120};
  const Pool pool(view.num_blocks * view.page_bytes);
  const auto [key, value] = key_value_layouts(view.form, kv_layouts(view)[4], 8, 8);
  const TensorView keys = make_view(pool.bytes(), view.dtype, key), values = make_view(pool.bytes(), view.dtype, value);
  AttentionInputs inputs = inputs_of(batch, {{}, keys, values});
  const std::int64_t shift = view.num_blocks - batch.num_blocks;
  change_metadata(inputs, [&](auto& metadata) {
    for (std::int64_t& block : metadata.block_table) block += shift;
  });
  std::vector<std::int64_t> slots(batch.num_slots());
  for (std::size_t slot = 0; slot < slots.size(); ++slot) slots[slot] = static_cast<std::int64_t>(slot) + shift * 16;
  CHECK(keys.layout.at({slots.back() / 4, 3, 1, 7}) > std::int64_t{1} << 31);
  write_tokens(keys, slots, batch.key_cache);
  write_tokens(values, slots, batch.value_cache);
  CHECK(identical(unified_attention<float>(inputs, {.unique_bias = UniqueBiasMode::gathered}).output, expected));
  CHECK(identical(unified_attention<float>(inputs).output, expected));
  CHECK(largest_error(expected, reference_attention(inputs)) <= fp32_tolerance);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    CHECK(largest_error(run(how, inputs).output, reference(batch)) <= fp32_tolerance);
  }
}

}  // namespace
}  // namespace hybridkv::test
