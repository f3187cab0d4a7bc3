#include "measure/attention_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/microbatch.h"
#include "attention/paged_kernel.h"
#include "attention/reference.h"
#include "attention/unified.h"
#include "measure/machine_peak.h"
#include "measure/streaming_read.h"

namespace hybridkv {

namespace {

double difference(float value, double expected) {
  if (value == expected) return 0;
  const double error = std::abs(value - expected);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

AttentionOutput<double> in_float64(const AttentionInputs& inputs, AttentionBackend by) {
  if (by == AttentionBackend::reference) return reference_attention(inputs);
  expects(by == AttentionBackend::unified, "only the reference and the unified algorithm compute in float64");
  UnifiedOptions options;
  options.unique_bias = UniqueBiasMode::gathered;
  return unified_attention<double>(inputs, options).output;
}

}  // namespace

bool rounds_weights(const AttentionBenchSpec& spec) {
  return spec.backend == AttentionBackend::paged && rounds_weights(spec.options.paged, spec.workload.dtype);
}

RowArithmetic arithmetic_of(const AttentionBenchSpec& spec) {
  if (spec.backend == AttentionBackend::reference) {
    const Arithmetic wide = is_available(Arithmetic::fp64_avx) ? Arithmetic::fp64_avx : Arithmetic::fp64_plain;
    return {wide, wide};
  }
  if (spec.backend != AttentionBackend::paged) return {Arithmetic::fp32_plain, Arithmetic::fp32_plain};
  const SimdPath path = spec.options.paged.simd.value_or(best_simd_path());
  const ProductForm form = key_form(paged_kernel(path), spec.workload.dtype, spec.workload.dtype);
  if (form == ProductForm::tiles) return {Arithmetic::bf16_tiles, Arithmetic::bf16_tiles};
  return {form == ProductForm::pairs ? Arithmetic::bf16_avx512 : float_arithmetic(path),
          rounds_weights(spec) ? Arithmetic::bf16_avx512 : float_arithmetic(path)};
}

SampledError sampled_error(const AttentionInputs& inputs, const AttentionOutput<float>& output, std::int64_t tokens,
                           AttentionBackend by) {
  const std::int64_t all = inputs.num_tokens(), heads = inputs.num_query_heads, channels = inputs.head_size_v();
  SampledError largest;
  tokens = std::min(tokens, all);
  for (std::int64_t i = 0; i < tokens; ++i) {
    const std::int64_t token = tokens == 1 ? all - 1 : i * (all - 1) / (tokens - 1);
    const AttentionOutput<double> expected = in_float64(slice_inputs(inputs, token, token + 1), by);
    for (std::int64_t j = 0; j < heads * channels; ++j)
      largest.output = std::max(largest.output, difference(output.out[token * heads * channels + j], expected.out[j]));
    for (std::int64_t head = 0; head < heads; ++head)
      largest.lse = std::max(largest.lse, difference(output.lse[token * heads + head], expected.lse[head]));
  }
  return largest;
}

AttentionBenchResult bench_attention(const AttentionBenchSpec& spec, ResidentBudget& budget) {
  AttentionWorkload workload(spec.workload, budget);
  const AttentionInputs& inputs = workload.inputs();
  const std::int64_t threads = spec.options.paged.threads;
  expects(threads >= 1, "the number of threads of a row is known");
  const auto metadata = build_metadata(spec.backend, make_group_batch(inputs.metadata, inputs.shape()), spec.options);

  AttentionBenchResult result;
  const BackendResult first = metadata->run(inputs);
  result.checked_tokens = std::min(spec.checked_tokens, inputs.num_tokens());
  if (spec.backend == AttentionBackend::reference) result.checked_by = AttentionBackend::unified;
  result.error = sampled_error(inputs, first.output, spec.checked_tokens, result.checked_by);
  result.allowed_error = exact_error + (rounds_weights(spec) ? std::ldexp(1.0, -9) : 0);
  if (!result.is_correct()) return result;
  result.peak_bytes = total_bytes(first.memory.biases) + total_bytes(first.memory.scratch);

  result.kv_bytes = workload.kv_bytes();
  const std::int64_t read_bytes = std::max<std::int64_t>(4096, result.kv_bytes);
  const ResidentCharge charge(budget, read_bytes, "a buffer as large as the K and V of the batch, to measure reading");
  const StreamingRead read(read_bytes);
  result.arithmetic = arithmetic_of(spec);
  const auto channels_k = static_cast<double>(inputs.head_size_k());
  const double share_of_keys = channels_k / (channels_k + static_cast<double>(inputs.head_size_v()));
  const auto measure_machine = [&] {
    const double keys = peak_flops_per_second(result.arithmetic.keys, threads);
    const double values = result.arithmetic.values == result.arithmetic.keys
                              ? keys
                              : peak_flops_per_second(result.arithmetic.values, threads);
    const double peak = 1 / (share_of_keys / keys + (1 - share_of_keys) / values);
    result.peak_flops_per_second = std::max(result.peak_flops_per_second, peak);
    result.read_bytes_per_second = std::max(result.read_bytes_per_second, read.bytes_per_second(read_bytes, threads));
  };
  measure_machine();
  std::vector<double> seconds;
  double total = 0;
  while (total < spec.min_seconds || seconds.size() < 3) {
    const auto start = std::chrono::steady_clock::now();
    metadata->run(inputs);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    total += seconds.back();
  }
  measure_machine();

  std::sort(seconds.begin(), seconds.end());
  result.runs = std::ssize(seconds);
  result.best_seconds = seconds.front();
  result.median_seconds = seconds[seconds.size() / 2];
  result.flops_per_second = workload.flops() / result.best_seconds;
  result.bytes_per_second = static_cast<double>(result.kv_bytes) / result.best_seconds;
  return result;
}

}  // namespace hybridkv
