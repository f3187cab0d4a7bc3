#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>

#include "attention/backend.h"
#include "measure/arithmetic.h"
#include "measure/attention_workload.h"

namespace hybridkv {

/// One backend on one batch.
struct AttentionBenchSpec {
  AttentionWorkloadSpec workload;
  AttentionBackend backend = AttentionBackend::paged;
  BackendOptions options;          ///< options.paged.threads is the number of threads of the row, >= 1
  double min_seconds = 0.5;        ///< the backend runs at least so long, and at least three times
  std::int64_t checked_tokens = 8; ///< query tokens that are compared with the reference first, spread over the batch
};

/// Whether the backend of that row rounds weights.
bool rounds_weights(const AttentionBenchSpec& spec);

/// What a backend computes a row's products with K and with V by.
struct RowArithmetic {
  Arithmetic keys = Arithmetic::fp32_plain, values = Arithmetic::fp32_plain;
};
/// The reference computes in float64, the unified algorithm and the cascade in floats as the compiler has them, paged
/// in the instructions of its path.
RowArithmetic arithmetic_of(const AttentionBenchSpec& spec);

/// What bounds a row's time.
enum class RooflineBound {
  products,  ///< its multiplications and additions, at the peak of their instructions
  read,      ///< one pass over K and V that it sees
};

inline constexpr auto roofline_bound_names =
    std::to_array<Named<RooflineBound>>({{RooflineBound::products, "products"}, {RooflineBound::read, "read"}});

constexpr std::string_view to_string(RooflineBound bound) { return name_in(roofline_bound_names, bound); }

/// Allowed where every product is one of floats: whatever the cache holds is converted exactly; outputs are of order 1.
inline constexpr double exact_error = 1e-5;

/// Largest absolute differences from results in float64.
struct SampledError {
  double output = 0;
  double lse = 0;
  double largest() const { return std::max(output, lse); }
};

/// What was measured. Rates are those of the fastest run.
struct AttentionBenchResult {
  std::int64_t checked_tokens = 0;    ///< compared in float64 before the clock started
  AttentionBackend checked_by = AttentionBackend::reference;  ///< what computed the other side, see `sampled_error`
  SampledError error;
  double allowed_error = 0;           ///< of outputs: 2^-9 more where weights are rounded, V being below 1
  std::int64_t runs = 0;
  double best_seconds = 0;
  double median_seconds = 0;
  double flops_per_second = 0;        ///< unmasked pairs only
  std::int64_t kv_bytes = 0;          ///< K and V that the batch sees, shared blocks once
  double bytes_per_second = 0;        ///< of kv_bytes
  std::int64_t peak_bytes = 0;        ///< biases and scratch of the backend, as measured; 0 for the reference
  RowArithmetic arithmetic;
  double peak_flops_per_second = 0;   ///< of this machine: the row's products by `arithmetic`, on as many threads
  double read_bytes_per_second = 0;   ///< of this machine: reading a buffer of kv_bytes, on as many threads

  /// Where false nothing was timed.
  bool is_correct() const { return error.output <= allowed_error && error.lse <= exact_error; }

  double share_of_peak() const { return flops_per_second / peak_flops_per_second; }
  double share_of_read() const { return bytes_per_second / read_bytes_per_second; }
  RooflineBound bound() const {
    return share_of_read() > share_of_peak() ? RooflineBound::read : RooflineBound::products;
  }
  /// The longest of what cannot be shorter, see RooflineBound, over the time of the fastest run.
  double share_of_roofline() const { return std::max(share_of_peak(), share_of_read()); }
  double roofline_seconds() const { return share_of_roofline() * best_seconds; }
  /// No kernel is faster than its roofline: where false this machine was measured wrongly. Shares are shown in
  /// hundredths, so that half of one is not seen.
  bool roofline_holds() const { return share_of_roofline() < 1.005; }
};

/// Checks the backend with `sampled_error`, the reference by the unified algorithm and every other one by the
/// reference, then times it between two measurements of what the machine can do, of which the better one counts. Throws
/// InputError for what the backend does not support, ResourceError where the batch does not fit into the budget.
AttentionBenchResult bench_attention(const AttentionBenchSpec& spec, ResidentBudget& budget);

/// Compares query tokens of a batch, spread over it, with what the reference, or the unified algorithm, computes for
/// them in float64; the two share no more than the reading of an element. Pre: `by` is one of the two.
SampledError sampled_error(const AttentionInputs& inputs, const AttentionOutput<float>& output, std::int64_t tokens,
                     AttentionBackend by = AttentionBackend::reference);

}  // namespace hybridkv
