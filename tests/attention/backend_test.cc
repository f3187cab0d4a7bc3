#include "attention/backend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "attention/backend_comparison.h"
#include "attention/local_attention.h"
#include "attention/microbatch.h"
#include "attention/paged.h"
#include "base/error.h"
#include "tests/attention/batch.h"
#include "tests/attention/random_shape.h"
#include "tests/attention/run_backend.h"
#include "test_paths.h"

namespace hybridkv::test {
namespace {

using Numbers = std::vector<std::int64_t>;

BackendResult run(AttentionBackend backend, const AttentionInputs& inputs, const BackendOptions& options = {}) {
  return run(BackendUnderTest{std::string(to_string(backend)), backend, options}, inputs);
}

TEST_CASE("law: every backend equals the reference, whatever it takes for a decode") {
  for (const AttentionBackend backend : all_attention_backends) {
    CAPTURE(to_string(backend));
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Batch batch = mixed_batch(seed);
      const PagedCache cache = lay_out_plain(batch);
      for (const std::int64_t threshold : {0, 1, 3, 100})
        CHECK(largest_error(run(backend, inputs_of(batch, cache), {threshold}).output, reference(batch)) <=
              fp32_tolerance);
    }
  }
}

TEST_CASE("law: local attention as virtual batches works with every backend") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  for (const std::int64_t chunk : {4, 12, 400}) {
    AttentionInputs masked = inputs_of(batch, cache);
    masked.mask = {MaskKind::chunked_local, chunk};
    const auto expected = reference_attention(masked);
    AttentionTensors tensors = masked;
    tensors.mask = {};
    for (const AttentionBackend backend : all_attention_backends) {
      CAPTURE(to_string(backend));
      const auto local =
          std::make_shared<const CommonAttentionMetadata>(local_attention_batches(batch.metadata, chunk).metadata);
      CHECK(largest_error(build_metadata(backend, {local, tensors.shape()})->run(tensors).output, expected) <=
            fp32_tolerance);
    }
  }
}

/// Whether the results of the tokens before and behind the cut are the result of the whole: within rounding, and bit
/// for bit where the table promises it.
bool microbatches_agree(const BackendUnderTest& how, const AttentionInputs& whole, std::int64_t cut,
                        const AttentionOutput<double>& expected) {
  AttentionOutput<float> both = run(how, slice_inputs(whole, 0, cut)).output;
  const AttentionOutput<float> tail = run(how, slice_inputs(whole, cut, whole.num_tokens())).output;
  both.out.insert(both.out.end(), tail.out.begin(), tail.out.end());
  both.lse.insert(both.lse.end(), tail.lse.begin(), tail.lse.end());
  if (largest_error(both, expected) > fp32_tolerance) return false;
  if (!feature_support(AttentionFeature::exact_microbatches).by(how.backend)) return true;
  const AttentionOutput<float> at_once = run(how, whole).output;
  return both.out == at_once.out && both.lse == at_once.lse;
}

TEST_CASE("law: microbatches of every backend concatenate to the whole, bit for bit where the table says so") {
  CHECK(rc::check("microbatches of backends", [] {
    const Batch batch = random_batch(random_shape(), *rc::gen::arbitrary<std::uint64_t>());
    const PagedCache cache = lay_out_plain(batch);
    AttentionInputs whole = inputs_of(batch, cache);
    const auto kind = *rc::gen::element(MaskKind::full, MaskKind::sliding_window, MaskKind::chunked_local);
    if (kind != MaskKind::full) whole.mask = {kind, *rc::gen::inRange<std::int64_t>(1, 20)};
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, whole.num_tokens() + 1);
    const AttentionOutput<double> expected = reference_attention(whole);
    for (const BackendUnderTest& how : backends_for(whole)) RC_ASSERT(microbatches_agree(how, whole, cut, expected));
  }));
}

TEST_CASE("law: microbatches of long contexts as well, which backends may split") {
  const Batch batch = random_batch({.query_lens = {5, 1, 40}, .context_lens = {3000, 1500, 700},
                                    .is_decode = {false, true, false}, .shared_prefix_blocks = 20},
                                   12);
  const PagedCache cache = lay_out_plain(batch);
  const AttentionInputs whole = inputs_of(batch, cache);
  const AttentionOutput<double> expected = reference_attention(whole);
  for (const BackendUnderTest& how : backends_under_test()) {
    CAPTURE(how.name);
    for (const std::int64_t cut : {1, 3, 5, 6, 23}) CHECK(microbatches_agree(how, whole, cut, expected));
  }
}

TEST_CASE("golden: a threshold of query tokens tells decodes from prompts") {
  const auto metadata = make_metadata(Numbers{1, 5, 0, 2}, Numbers{4, 5, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, 2, 4);
  CHECK(decodes_by_length(metadata, 1) == std::vector<bool>{true, false, true, false});
  CHECK(decodes_by_length(metadata, 2) == std::vector<bool>{true, false, true, true});
  CHECK(decodes_by_length(metadata, 0) == std::vector<bool>{false, false, true, false});
}

TEST_CASE("law: the options reach the backend, metadata serve many layers") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  BackendOptions options{.decode_threshold_tokens = 100};
  options.unified.shared_bias = SharedBiasMode::full;
  options.cascade_tile_tokens = 4;
  // All decodes: no causal bias; full: no usages.
  const auto unified_memory = run(AttentionBackend::unified, inputs_of(batch, cache), options).memory;
  CHECK(bytes_of(unified_memory.biases, "causal_bias") == 0);
  CHECK(bytes_of(unified_memory.biases, "shared_bias") > 0);
  CHECK(bytes_of(run(AttentionBackend::unified, inputs_of(batch, cache)).memory.biases, "causal_bias") > 0);
  CHECK(bytes_of(run(AttentionBackend::cascade, inputs_of(batch, cache), options).memory.scratch, "key_tile") ==
        4 * 16 * 4);
  const AttentionInputs inputs = inputs_of(batch, cache);
  const GroupBatch group = make_group_batch(inputs.metadata, inputs.shape());
  const Batch other_layer = mixed_batch(8);
  Batch same_batch = batch;
  same_batch.query = other_layer.query;
  for (const auto& metadata : build_metadata(all_attention_backends, group)) {
    CAPTURE(to_string(metadata->backend()));
    // Borrowed, not copied.
    CHECK(&metadata->common() == inputs.metadata.get());
    for (const Batch* layer : {&batch, &std::as_const(same_batch)})
      CHECK(largest_error(metadata->run(inputs_of(*layer, cache)).output, reference(*layer)) <= fp32_tolerance);
    AttentionInputs other_shape = inputs;
    other_shape.mask = {MaskKind::sliding_window, 4};
    CHECK_THROWS(metadata->run(other_shape));
  }
}

TEST_CASE("edge: what a backend does not do is refused with those that do, before anything is computed") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs inputs = inputs_of(batch, cache);
  inputs.mask = {MaskKind::sliding_window, 12};
  CHECK_THROWS_WITH_AS(run(AttentionBackend::cascade, inputs),
                       doctest::Contains("backend cascade does not support sliding_window (the last tokens only); "
                                         "reference, unified"),
                       InputError);
  inputs.mask.kind = MaskKind::chunked_local;
  CHECK_THROWS_WITH_AS(run(AttentionBackend::cascade, inputs), doctest::Contains("chunked_local"), InputError);
  change_metadata(inputs, [](auto& metadata) { metadata.query_start_loc.pop_back(); });
  for (const AttentionBackend backend : all_attention_backends)
    CHECK_THROWS_WITH_AS(build_metadata(backend, {inputs.metadata, inputs.shape()}),
                         doctest::Contains("query_start_loc"), InputError);
}

TEST_CASE("law: every backend does what the table says it does, and refuses the rest") {
  for (const AttentionBackend backend : all_attention_backends) {
    CAPTURE(to_string(backend));
    CHECK(parse_attention_backend(to_string(backend)) == backend);
    for (const FeatureSupport& row : feature_table()) {
      CAPTURE(row.name);
      const AttentionFeature asked[] = {row.feature};
      CHECK(unsupported(backend, asked).has_value() == !row.by(backend));
    }
  }
  CHECK(!parse_attention_backend("flash"));
  const AttentionFeature scaled[] = {AttentionFeature::fp32, AttentionFeature::scaled_kv};
  CHECK(*unsupported(AttentionBackend::paged, scaled) ==
        "backend paged does not support scaled_kv (scales: of the tensor, of a token and head, nvfp4, ds_mla); "
        "reference, unified, cascade do");
  const AttentionFeature exact[] = {AttentionFeature::exact_microbatches};
  CHECK(*unsupported(AttentionBackend::cascade, exact) ==
        "backend cascade does not support exact_microbatches (microbatches: bits of the whole); reference, paged do");
}

TEST_CASE("golden: the features that a layer asks for") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs inputs = inputs_of(batch, cache);
  using enum AttentionFeature;
  CHECK(features_of(inputs, *inputs.metadata) == std::vector{causal, grouped_heads, fp32});
  const float logits[] = {0, 0, 0, 0};
  inputs.mask = {MaskKind::chunked_local, 4};
  inputs.soft_cap = 2;
  inputs.sinks = logits;
  CHECK(features_of(inputs, *inputs.metadata) ==
        std::vector{causal, grouped_heads, chunked_local, soft_cap, sinks, fp32});
}

/// A batch, its cache and a layer that asks for one feature.
struct Asking {
  Batch batch;
  PagedCache cache;
  std::vector<float> sinks;

  explicit Asking(AttentionFeature feature) {
    BatchShape shape{.query_lens = {9, 5, 1, 3}, .context_lens = {0, 21, 26, 23},
                     .is_decode = {false, false, true, true}, .shared_prefix_blocks = 1, .block_size = 8};
    KvViewSpec view{.dtype = DType::fp32, .kernel_block_size_tokens = 4, .pack_size = 2};
    for (const DType dtype : all_dtypes)
      if (feature == feature_of(dtype)) view.dtype = dtype;
    KvCodec codec;
    if (feature == AttentionFeature::scaled_kv) {
      view.dtype = DType::fp8_e4m3;
      codec.scale = 0.3f;
    }
    if (feature == AttentionFeature::mla) {
      view.form = BackendForm::mla;
      shape.num_kv_heads = 1;
      shape.head_size_k = 24;
    }
    batch = rounded(random_batch(shape, 17), view.dtype);
    if (feature == AttentionFeature::mla) batch = with_latent(std::move(batch));
    batch.metadata.causal = feature != AttentionFeature::non_causal;
    if (codec.has_scales()) batch = encoded(std::move(batch), codec, view.dtype);
    cache = lay_out(batch, view, 1, codec);
    if (feature == AttentionFeature::sinks) sinks = {0.5f, -1, 3, 0};
  }

  AttentionInputs inputs(AttentionFeature feature) const {
    AttentionInputs result = inputs_of(batch, cache);
    if (feature == AttentionFeature::sliding_window) result.mask = {MaskKind::sliding_window, 11};
    if (feature == AttentionFeature::chunked_local) result.mask = {MaskKind::chunked_local, 11};
    if (feature == AttentionFeature::soft_cap) result.soft_cap = 1.5;
    result.sinks = sinks;
    return result;
  }
};

TEST_CASE("law: every backend equals the reference for each feature it has, and refuses every other") {
  for (const FeatureSupport& row : feature_table()) {
    // No tensors can ask for that.
    if (row.feature == AttentionFeature::exact_microbatches) continue;
    CAPTURE(row.name);
    const Asking layer(row.feature);
    const AttentionInputs inputs = layer.inputs(row.feature);
    const std::vector<AttentionFeature> asked = features_of(inputs, *inputs.metadata);
    CHECK(std::find(asked.begin(), asked.end(), row.feature) != asked.end());
    const AttentionOutput<double> expected = reference_attention(inputs);
    for (const AttentionBackend backend : all_attention_backends) {
      CAPTURE(to_string(backend));
      // Integers make scores of 50 and more.
      const bool is_integer = row.feature == AttentionFeature::int8 || row.feature == AttentionFeature::uint8;
      const double allowed = fp32_tolerance * (is_integer ? 10 : 1);
      if (!row.by(backend)) CHECK_THROWS_AS(run(backend, inputs), InputError);
      else CHECK(largest_error(run(backend, inputs).output, expected) <= allowed);
    }
  }
}

/// A random layer: sizes, element type, scale, form, kernel block, mask, soft cap and sinks.
struct RandomLayer {
  Batch batch;
  PagedCache cache;
  std::vector<float> sinks;
  KeyMask mask;
  double soft_cap = 0;

  RandomLayer() {
    BatchShape shape = random_shape();
    KvViewSpec view{.form = *rc::gen::element(BackendForm::diff_kv, BackendForm::paged, BackendForm::cpu,
                                              BackendForm::kv_first, BackendForm::mla),
                    .dtype = *rc::gen::element(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3, DType::fp8_e5m2),
                    .pack_size = *rc::gen::inRange<std::int64_t>(1, 4)};
    const bool latent = view.form == BackendForm::mla;
    if (latent) shape.num_kv_heads = 1;
    if (latent) shape.head_size_k = shape.head_size_v + 3;
    else if (view.form != BackendForm::diff_kv) shape.head_size_k = shape.head_size_v;
    if (shape.block_size % 2 == 0 && *rc::gen::arbitrary<bool>()) view.kernel_block_size_tokens = shape.block_size / 2;
    const bool scaled = element_bytes(view.dtype) == 1 && *rc::gen::arbitrary<bool>();
    const KvCodec codec{.scale = scaled ? 0.3f : 1.0f};
    batch = rounded(random_batch(shape, *rc::gen::arbitrary<std::uint64_t>()), view.dtype);
    if (latent) batch = with_latent(std::move(batch));
    if (scaled) batch = encoded(std::move(batch), codec, view.dtype);
    cache = lay_out(batch, view, 0, codec);
    const auto kind = *rc::gen::element(MaskKind::full, MaskKind::full, MaskKind::sliding_window,
                                        MaskKind::chunked_local);
    if (kind != MaskKind::full) mask = {kind, *rc::gen::inRange<std::int64_t>(1, 20)};
    soft_cap = *rc::gen::element(0.0, 1.5);
    if (*rc::gen::arbitrary<bool>()) sinks.assign(static_cast<std::size_t>(batch.num_query_heads), 0.75f);
  }

  AttentionInputs inputs() const {
    AttentionInputs result = inputs_of(batch, cache);
    result.mask = mask;
    result.soft_cap = soft_cap;
    result.sinks = sinks;
    return result;
  }
};

TEST_CASE("law: over random layers a backend computes what it claims, and does not run what it declines") {
  std::array<int, all_attention_backends.size()> ran{}, declined{};
  CHECK(rc::check("claims of backends", [&] {
    const RandomLayer layer;
    const AttentionInputs inputs = layer.inputs();
    const AttentionOutput<double> expected = reference_attention(inputs);
    for (const auto& metadata :
         build_metadata(all_attention_backends, make_group_batch(inputs.metadata, inputs.shape(), inputs.is_decode))) {
      const auto at = static_cast<std::size_t>(metadata->backend());
      if (const auto reason = metadata->declines(inputs)) {
        ++declined[at];
        RC_ASSERT(reason->find(std::string(to_string(metadata->backend()))) != std::string::npos);
        RC_ASSERT_THROWS_AS(metadata->run(inputs), InputError);
      } else {
        ++ran[at];
        RC_ASSERT(largest_error(metadata->run(inputs).output, expected) <= fp32_tolerance);
      }
    }
  }));
  for (const AttentionBackend backend : all_attention_backends) {
    CAPTURE(to_string(backend));
    const bool claims_all = backend == AttentionBackend::reference || backend == AttentionBackend::unified;
    CHECK(ran[static_cast<std::size_t>(backend)] > 10);
    CHECK((declined[static_cast<std::size_t>(backend)] == 0) == claims_all);
  }
}

TEST_CASE("law: the other backends are compared with an output on the same inputs") {
  const Batch batch = mixed_batch();
  const PagedCache cache = lay_out_plain(batch);
  AttentionInputs inputs = inputs_of(batch, cache);
  AttentionOutput<double> output = unified_attention<double>(inputs).output;
  const auto differences = [&] {
    std::vector<double> result;
    for (const BackendComparison& comparison : compare_backends(inputs, AttentionBackend::unified, output)) {
      CHECK(comparison.backend != AttentionBackend::unified);
      if (!comparison.declined) result.push_back(comparison.difference);
    }
    return result;
  };
  CHECK(differences().size() == 2);
  for (const double difference : differences()) CHECK((difference > 0 && difference <= fp32_tolerance));
  output.out[5] += 0.5;
  for (const double difference : differences()) CHECK(std::abs(difference - 0.5) < 1e-5);
  output.lse[0] = NAN;
  for (const double difference : differences()) CHECK(difference == INFINITY);
  inputs.mask = {MaskKind::sliding_window, 6};
  CHECK(differences().size() == 1);
}

TEST_CASE("law: every format with scales gives every backend that reads it the reference's result") {
  for (const KvFormat format : all_kv_formats) {
    if (!has_codec(format)) continue;
    CAPTURE(to_string(format));
    const bool latent = format == KvFormat::fp8_ds_mla;
    const BatchShape shape{.query_lens = {9, 5, 1, 3}, .context_lens = {0, 21, 26, 23},
                     .is_decode = {false, false, true, true}, .shared_prefix_blocks = 2, .block_size = 8,
                     .num_kv_heads = latent ? 1 : 2, .head_size_k = latent ? 576 : 32,
                     .head_size_v = latent ? 512 : 32};
    const KvCodec codec{.format = format, .scale = format == KvFormat::nvfp4 ? 0.01f : 1.0f};
    Batch batch = random_batch(shape, 5);
    if (latent) batch = with_latent(std::move(batch));
    batch = encoded(std::move(batch), codec, DType::uint8);
    const KvViewSpec view{.form = latent ? BackendForm::mla : BackendForm::paged, .dtype = DType::uint8,
                          .kernel_block_size_tokens = 4, .pack_size = 2};
    const PagedCache cache = lay_out(batch, view, 1, codec);
    const AttentionInputs inputs = inputs_of(batch, cache);
    const AttentionOutput<double> expected = reference_attention(inputs);
    // What the bytes stand for, without a cache of bytes.
    CHECK(largest_error(expected, reference(batch)) <= 1e-6);
    for (const AttentionBackend backend : {AttentionBackend::unified, AttentionBackend::cascade}) {
      CAPTURE(to_string(backend));
      CHECK(largest_error(run(backend, inputs).output, expected) <= fp32_tolerance);
    }
    CHECK_THROWS_WITH_AS(paged_attention(inputs),
                         "paged attention: its kernels read elements without scales; take another backend", InputError);
  }
}

TEST_CASE("golden: the table in the documentation is the program's") {
  std::ifstream file(HYBRIDKV_SOURCE_DIR "/docs/attention-backends.md");
  std::stringstream text;
  text << file.rdbuf();
  CHECK_MESSAGE(text.str().find(feature_table_markdown()) != std::string::npos, feature_table_markdown());
}

}  // namespace
}  // namespace hybridkv::test
