#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace hybridkv {

/// What a clock has that no datasheet says, by engine: shares of peaks that its kernels reach, and what it spends
/// whatever it computes.
enum class Coefficient {
  gemm_eff,          ///< share of the peak that dense products reach; attention reaches 0.7 of it
  moe_eff,           ///< the same of products with experts
  mem_eff,           ///< share of the bandwidth of the memory; attention reaches 0.7 of it
  layer_us,          ///< of every layer and step: its many small kernels
  moe_layer_us,      ///< a layer with routed experts has besides
  mixer_layer_us,    ///< a layer with states or latents has besides
  quant_layer_us,    ///< a layer whose activations are quantised has besides
  step_ms,           ///< of every step: scheduling, sampling
  seq_us,            ///< of every sequence that decodes in a step
  allreduce_us,      ///< of one all-reduce, without its bytes
  eager_layer_us,    ///< of every layer in a step with prompts, which no full graph holds
  ttft_ms,           ///< of the first token of a request: HTTP, tokeniser, its first chunk of a stream
};
inline constexpr std::size_t num_coefficients = 12;

/// One of them: how it is spelled, where it starts and where it ends.
struct CoefficientRange {
  Coefficient which;
  std::string_view name;
  double start;  ///< where nothing was measured
  double least;
  double most;
  double held;   ///< how a fit weighs a factor of e away from `start`, against one run that is so far off
};

/// Starts and weights are those under which fits predict best what they have not seen: of the published runs each model
/// left out in turn, and each GPU. What kernels reach of a machine differs less from engine to engine than what a first
/// token costs beside them.
inline constexpr std::array<CoefficientRange, num_coefficients> coefficient_ranges{{
    {Coefficient::gemm_eff, "gemm_eff", 0.5, 0.02, 0.9, 1.4},
    {Coefficient::moe_eff, "moe_eff", 0.25, 0.02, 0.9, 1.4},
    {Coefficient::mem_eff, "mem_eff", 0.7, 0.1, 0.95, 1.4},
    {Coefficient::layer_us, "layer_us", 25, 0.1, 1000, 0.7},
    {Coefficient::moe_layer_us, "moe_layer_us", 30, 0.1, 1000, 0.7},
    {Coefficient::mixer_layer_us, "mixer_layer_us", 16, 0.1, 1000, 0.7},
    {Coefficient::quant_layer_us, "quant_layer_us", 12, 0.1, 1000, 0.7},
    {Coefficient::step_ms, "step_ms", 1, 0.001, 100, 1.4},
    {Coefficient::seq_us, "seq_us", 6, 0.01, 1000, 1.4},
    {Coefficient::allreduce_us, "allreduce_us", 7, 0.1, 1000, 1.4},
    {Coefficient::eager_layer_us, "eager_layer_us", 150, 0.1, 5000, 1.4},
    {Coefficient::ttft_ms, "ttft_ms", 30, 0.1, 5000, 0.35},
}};

/// A value of each.
class Coefficients {
 public:
  /// Those to start from.
  constexpr Coefficients() {
    for (const CoefficientRange& range : coefficient_ranges) (*this)[range.which] = range.start;
  }
  constexpr double& operator[](Coefficient which) { return values_[static_cast<std::size_t>(which)]; }
  constexpr double operator[](Coefficient which) const { return values_[static_cast<std::size_t>(which)]; }
  bool operator==(const Coefficients&) const = default;

 private:
  std::array<double, num_coefficients> values_{};
};

}  // namespace hybridkv
