#include "measure/attention_bench.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attention/reference.h"
#include "measure/machine_peak.h"
#include "tests/close_to.h"

namespace hybridkv::test {
namespace {

AttentionBenchSpec small(const char* batch, AttentionBackend backend) {
  AttentionBenchSpec spec;
  spec.workload.batch = parse_batch_spec(batch);
  spec.workload.query_heads = 4;
  spec.workload.kv_heads = 2;
  spec.workload.head_size_k = spec.workload.head_size_v = 16;
  spec.workload.block_size_tokens = spec.workload.kernel_block_size_tokens = 16;
  spec.workload.shared_prefix_tokens = 32;
  spec.backend = backend;
  spec.min_seconds = 0;
  return spec;
}

TEST_CASE("law: every backend is checked, timed and measured beside the machine") {
  ResidentBudget budget(std::int64_t{1} << 30);
  for (const AttentionBackend backend : all_attention_backends) {
    CAPTURE(to_string(backend));
    const AttentionBenchResult result = bench_attention(small("q20_3q1s50", backend), budget);
    CHECK(result.is_correct());
    CHECK(result.allowed_error == 1e-5);  // no weight is rounded unless that is asked for
    CHECK(result.checked_tokens == 8);
    CHECK(result.checked_by != backend);
    CHECK(result.runs >= 3);
    CHECK(result.best_seconds > 0);
    CHECK(result.median_seconds >= result.best_seconds);
    CHECK(result.flops_per_second > 0);
    CHECK(result.kv_bytes == AttentionWorkload(small("q20_3q1s50", backend).workload, budget).kv_bytes());
    CHECK(result.kv_bytes > 0);
    CHECK(result.bytes_per_second == doctest::Approx(static_cast<double>(result.kv_bytes) / result.best_seconds));
    CHECK(result.read_bytes_per_second > 0);
    CHECK(result.peak_flops_per_second > 0);
    CHECK(std::isfinite(result.peak_flops_per_second));
    CHECK(result.roofline_seconds() == testing::close_to(std::max(
        result.flops_per_second * result.best_seconds / result.peak_flops_per_second,
        static_cast<double>(result.kv_bytes) / result.read_bytes_per_second)));
    CHECK((result.peak_bytes > 0) == (backend != AttentionBackend::reference));
    CHECK(budget.charged_bytes() == 0);
  }
}

TEST_CASE("edge: weights that are rounded to 8 bits move outputs by 2^-9 at most, which is allowed besides") {
  if (!is_available(SimdPath::avx512bf16)) return;
  ResidentBudget budget(std::int64_t{1} << 30);
  AttentionBenchSpec spec = small("q20_3q1s50", AttentionBackend::paged);
  spec.options.paged.simd = SimdPath::avx512bf16;
  spec.options.paged.round_weights = true;
  const AttentionBenchResult result = bench_attention(spec, budget);
  CHECK(result.allowed_error == testing::close_to(1e-5 + 1.0 / 512));
  CHECK(result.is_correct());
}

TEST_CASE("edge: K and V that meet different instructions have a peak of both, each for its share of the products") {
  if (!is_available(SimdPath::avx512bf16)) return;
  ResidentBudget budget(std::int64_t{1} << 30);
  AttentionBenchSpec spec = small("q20_3q1s50", AttentionBackend::paged);
  spec.workload.head_size_k = spec.workload.head_size_v = 128;
  spec.options.paged.simd = SimdPath::avx512bf16;
  const AttentionBenchResult result = bench_attention(spec, budget);
  REQUIRE(result.arithmetic.keys == Arithmetic::bf16_avx512);
  REQUIRE(result.arithmetic.values == Arithmetic::fp32_avx512);
  // It lies between those of the two. Another program may take the processor in the middle of any.
  const double keys = peak_flops_per_second(Arithmetic::bf16_avx512, 1);
  const double values = peak_flops_per_second(Arithmetic::fp32_avx512, 1);
  CHECK(result.peak_flops_per_second > std::min(keys, values) / 10);
  CHECK(result.peak_flops_per_second < std::max(keys, values) * 10);
}

TEST_CASE("fault: a wrong output is found before anything is timed") {
  ResidentBudget budget(std::int64_t{1} << 30);
  const AttentionWorkload workload(small("q20", AttentionBackend::paged).workload, budget);
  const AttentionInputs& inputs = workload.inputs();
  AttentionOutput<float> output = paged_attention(inputs).output;
  CHECK(sampled_error(inputs, output, 8).largest() <= 1e-5);
  output.out.back() += 0.01f;
  CHECK(sampled_error(inputs, output, 8).largest() == testing::close_to(0.01, 1e-3));
  // The reference has another one to be checked by, which finds what is wrong with it.
  const AttentionOutput<double> exact = reference_attention(inputs);
  output = {{exact.out.begin(), exact.out.end()}, {exact.lse.begin(), exact.lse.end()}};
  CHECK(sampled_error(inputs, output, 8, AttentionBackend::unified).output <= 1e-6);
  output.out.front() += 0.01f;
  CHECK(sampled_error(inputs, output, 8, AttentionBackend::unified).output == testing::close_to(0.01, 1e-3));
  output = paged_attention(inputs).output;
  output.lse.front() = std::nanf("");
  CHECK(std::isinf(sampled_error(inputs, output, 8).lse));
}

TEST_CASE("law: what a row is measured against is the arithmetic of its kernel") {
  AttentionBenchSpec spec = small("q20", AttentionBackend::reference);
  spec.workload.dtype = DType::bf16;
  const auto are = [&](Arithmetic keys, Arithmetic values) {
    const RowArithmetic found = arithmetic_of(spec);
    return found.keys == keys && found.values == values;
  };
  CHECK((are(Arithmetic::fp64_avx, Arithmetic::fp64_avx) || are(Arithmetic::fp64_plain, Arithmetic::fp64_plain)));
  for (const AttentionBackend backend : {AttentionBackend::unified, AttentionBackend::cascade}) {
    spec.backend = backend;
    CHECK(are(Arithmetic::fp32_plain, Arithmetic::fp32_plain));
  }
  spec.backend = AttentionBackend::paged;
  for (const SimdPath path : available_simd_paths()) {
    spec.options.paged.simd = path;
    const Arithmetic floats = float_arithmetic(path);
    const Arithmetic of_bf16 = path == SimdPath::amx          ? Arithmetic::bf16_tiles
                               : path == SimdPath::avx512bf16 ? Arithmetic::bf16_avx512
                                                              : floats;
    spec.options.paged.round_weights = true;
    CHECK(are(of_bf16, of_bf16));
    spec.options.paged.round_weights = false;  // in tiles exact weights travel as three of bf16
    CHECK(are(of_bf16, path == SimdPath::amx ? of_bf16 : floats));
    spec.workload.dtype = DType::fp32;
    CHECK(are(floats, floats));
    spec.workload.dtype = DType::bf16;
  }
}

}  // namespace
}  // namespace hybridkv::test
