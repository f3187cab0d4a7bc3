#include "measure/attention_workload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/convert.h"
#include "base/error.h"
#include "tests/planner/at_32k.h"
#include "tests/planner/packed_engine.h"

namespace hybridkv::test {
namespace {

AttentionWorkloadSpec small(const char* batch) {
  AttentionWorkloadSpec spec;
  spec.batch = parse_batch_spec(batch);
  spec.query_heads = 4;
  spec.kv_heads = 2;
  spec.head_size_k = spec.head_size_v = 8;
  spec.block_size_tokens = spec.kernel_block_size_tokens = 16;
  return spec;
}

TEST_CASE("golden: bytes and operations of small batches, by hand") {
  ResidentBudget budget(std::int64_t{1} << 30);
  // Two decodes at 40 tokens: 80 slots of 2 * 16 channels of 2 bytes; 80 pairs of 4 heads, 2 * 16 operations each.
  const AttentionWorkload decodes(small("2q1s40"), budget);
  CHECK(decodes.kv_bytes() == 80 * 64);
  CHECK(decodes.flops() == 80 * 4 * 32);
  // A prefill of 5 tokens: 15 pairs.
  const AttentionWorkload prefill(small("q5"), budget);
  CHECK(prefill.kv_bytes() == 5 * 64);
  CHECK(prefill.flops() == 15 * 4 * 32);
  // 35 common tokens are 2 whole blocks, which count once; the operations stay.
  AttentionWorkloadSpec spec = small("2q1s40");
  spec.shared_prefix_tokens = 35;
  const AttentionWorkload shared(spec, budget);
  CHECK(shared.kv_bytes() == (32 + 2 * 8) * 64);
  CHECK(shared.flops() == decodes.flops());
  // Of 64 common tokens a request shares only what lies before its query: 31, of which one block is whole.
  spec = small("2q9s40");
  spec.shared_prefix_tokens = 64;
  CHECK(AttentionWorkload(spec, budget).kv_bytes() == (16 + 2 * 24) * 64);
  // A window of 10 tokens sees slots 30 to 39 of each.
  spec = small("2q1s40");
  spec.mask = {MaskKind::sliding_window, 10};
  const AttentionWorkload windowed(spec, budget);
  CHECK(windowed.flops() == 20 * 4 * 32);
  CHECK(windowed.kv_bytes() == 20 * 64);
}

TEST_CASE("law: keys and values of every token of the batch are written, of up to 1") {
  ResidentBudget budget(std::int64_t{1} << 30);
  const AttentionWorkload workload(small("2q1s40"), budget);
  const AttentionInputs& inputs = workload.inputs();
  for (std::int64_t request = 0; request < 2; ++request)
    for (std::int64_t position = 0; position < 40; ++position)
      for (const TensorView* view : {&inputs.key, &inputs.value}) {
        CAPTURE(request);
        CAPTURE(position);
        for (std::int64_t head = 0; head < 2; ++head) {
          std::vector<float> values(8);
          load_elements(view->address({inputs.metadata->block(request, position / 16), position % 16, head, 0}),
                        view->dtype, values);
          CHECK(std::any_of(values.begin(), values.end(), [](float value) { return value != 0; }));
          CHECK(std::all_of(values.begin(), values.end(), [](float value) { return std::abs(value) <= 1; }));
        }
      }
}

TEST_CASE("law: queries are of the type of a cache of two bytes, as engines compute them; else they are floats") {
  ResidentBudget budget(std::int64_t{1} << 30);
  const auto are_of = [&](DType cache, DType type) {
    AttentionWorkloadSpec spec = small("2q1s40");
    spec.dtype = cache;
    const AttentionWorkload workload(spec, budget);
    const std::span<const float> queries = workload.inputs().query;
    std::vector<std::byte> kept(queries.size() * 2);
    store_elements(kept.data(), type, queries);
    std::vector<float> read(queries.size());
    load_elements(kept.data(), type, read);
    return std::equal(read.begin(), read.end(), queries.begin(), queries.end());
  };
  CHECK(are_of(DType::bf16, DType::bf16));
  CHECK(are_of(DType::fp16, DType::fp16));
  // Floats have digits that 16 bits do not keep.
  for (const DType cache : {DType::fp8_e4m3, DType::fp32}) {
    CHECK_FALSE(are_of(cache, DType::bf16));
    CHECK_FALSE(are_of(cache, DType::fp16));
  }
}

TEST_CASE("law: the budget gets back what a batch was charged, and refuses before it allocates") {
  ResidentBudget budget(1 << 20);
  {
    const AttentionWorkload workload(small("2q1s40"), budget);
    // 6 blocks and the null block of 16 slots of 64 bytes, 2 * 3 + 7 entries of tables, 4 bytes of q, k, v and results.
    CHECK(budget.charged_bytes() == 7 * 16 * 64 + 13 * 16 + 2 * 4 * (4 * 8 + 2 * 16));
    // A decode is one token, no more.
    CHECK(workload.inputs().is_decode == std::vector<bool>{true, true});
    CHECK(AttentionWorkload(small("2q2s40"), budget).inputs().is_decode == std::vector<bool>{false, false});
  }
  CHECK(budget.charged_bytes() == 0);
  CHECK_THROWS_AS(AttentionWorkload(small("1000q1s100k"), budget), ResourceError);
  CHECK(budget.charged_bytes() == 0);
}

TEST_CASE("edge: one query head is timed like many, none that a model says cannot be") {
  ResidentBudget budget(1 << 20);
  AttentionWorkloadSpec spec = small("q1");
  spec.query_heads = spec.kv_heads = 1;
  CHECK(AttentionWorkload(spec, budget).kv_bytes() == 16 * 2);  // of one token 2 * 8 channels of 2 bytes
  const auto planned = [](std::int64_t query_heads) {
    ModelSpec model;
    LayerSpec layer;
    layer.attention = testing::full_attention(1, 64, query_heads);
    model.layers.assign(2, layer);
    EngineSpec engine = testing::packed_engine(1);
    engine.tensor_parallel = 1;
    return workload_of(make_plan(model, engine, testing::at_32k), {});
  };
  CHECK(planned(1).query_heads == 1);
  CHECK_THROWS_WITH_AS(planned(0), doctest::Contains("the model does not say how many query heads it has"), SpecError);
}

TEST_CASE("edge: sizes that contradict each other") {
  ResidentBudget budget(1 << 20);
  AttentionWorkloadSpec spec = small("q1");
  spec.query_heads = 3;
  CHECK_THROWS_WITH_AS(AttentionWorkload(spec, budget), "3 query heads do not share 2 KV heads evenly", InputError);
  spec = small("q1");
  spec.kernel_block_size_tokens = 5;
  CHECK_THROWS_AS(AttentionWorkload(spec, budget), SpecError);
  spec = small("q1");
  spec.form = BackendForm::mla;
  CHECK_THROWS_WITH_AS(AttentionWorkload(spec, budget),
                       "form mla keeps one latent per token, which is one KV head, not 2", InputError);
}

}  // namespace
}  // namespace hybridkv::test
