#pragma once

#include <array>
#include <string_view>

#include "base/named_values.h"
#include "clock/clock_model.h"
#include "clock/coefficients.h"
#include "clock/gpu_speed.h"
#include "clock/step_batch.h"

namespace hybridkv {

/// Where a step spends its time.
enum class StepPart {
  linears,            ///< products with the dense weights
  experts,            ///< products with the routed experts that the batch touches
  vocabulary,         ///< product with the head, of what is sampled
  attention_decode,   ///< K and V read by sequences that generate
  attention_prefill,  ///< pairs of queries and keys of prompts
  states,             ///< states read and written by sequences that generate, and copies of states
  scans,              ///< of prompts through recurrent layers
  collectives,        ///< two all-reduces a layer where ranks share it; rows sent to experts of other ranks and back
  launches,           ///< of kernels, by layer
  eager,              ///< of kernels outside the full graph, where the step has prompts
  scheduler,          ///< of every step and sequence: scheduling, sampling, detokenising
  loads,              ///< from memory behind the cache, for which the step waits
};
inline constexpr auto step_part_names = std::to_array<Named<StepPart>>(
    {{StepPart::linears, "linears"},
     {StepPart::experts, "experts"},
     {StepPart::vocabulary, "vocabulary"},
     {StepPart::attention_decode, "attention_decode"},
     {StepPart::attention_prefill, "attention_prefill"},
     {StepPart::states, "states"},
     {StepPart::scans, "scans"},
     {StepPart::collectives, "collectives"},
     {StepPart::launches, "launches"},
     {StepPart::eager, "eager"},
     {StepPart::scheduler, "scheduler"},
     {StepPart::loads, "loads"}});
inline constexpr auto all_step_parts = values_of(step_part_names);
constexpr std::string_view to_string(StepPart value) { return name_in(step_part_names, value); }

/// Work of one operator in a step on one rank, in seconds at the peaks of the machine.
struct OperatorWork {
  double flop_seconds = 0;
  double byte_seconds = 0;
};

/// A step without any coefficient: what the machine's peaks alone say, and how often each cost occurs. Linear costs
/// can be fitted on it without looking at the model again.
struct StepWorkload {
  OperatorWork linears, experts, vocabulary, attention_decode, attention_prefill, states;
  double scan_seconds = 0;
  double link_seconds = 0;
  double allreduces = 0;
  double layers = 0, moe_layers = 0, mixer_layers = 0, quant_layers = 0, eager_layers = 0;
  double sequences = 0;
  double loaded_seconds = 0, loaded_beside_seconds = 0;
};

/// What layers of attention read in a step: all of it, or what lies in their window.
struct StepReads {
  double pairs = 0;    ///< of queries and keys of prompts
  double context = 0;  ///< tokens behind and of prompts
  double decoded = 0;  ///< tokens that sequences which generate read
};

/// The drafts of a step. A drafter is taken to be one more layer of the model, with attention where the model has any,
/// and the head: it runs once for each draft, on one row of every sequence.
struct DraftPass {
  StepBatch batch;          ///< of one run of it
  double of_layers = 0;     ///< its runs, as a share of all layers of the model
  double of_attention = 0;  ///< of those with attention
};

/// Seconds of each part of a step; their sum is the step.
class StepParts {
 public:
  double& operator[](StepPart part) { return seconds_[static_cast<std::size_t>(part)]; }
  double operator[](StepPart part) const { return seconds_[static_cast<std::size_t>(part)]; }
  double total() const;
  bool operator==(const StepParts&) const = default;

 private:
  std::array<double, step_part_names.size()> seconds_{};
};

/// Time of a step from its batch: the larger of FLOPs and bytes of every operator, plus launches, plus collectives.
/// Source of the formulas: roofline by operator (Williams, Waterman and Patterson 2009), with launch costs by layer.
class StepClock {
 public:
  StepClock(const ClockModel& model, const ClockSplit& split, const GpuSpeed& gpu, const Coefficients& coefficients);

  StepWorkload workload(const StepBatch& batch) const;
  StepReads read_by(const AttentionWork& layers, const StepBatch& batch) const;
  DraftPass draft_pass(const StepBatch& batch) const;
  StepParts parts(const StepBatch& batch) const { return parts_of(workload(batch), coefficients_); }
  double seconds(const StepBatch& batch) const { return seconds_of(workload(batch), coefficients_); }
  /// From the end of a step to the client, once a request.
  double first_token_seconds() const { return coefficients_[Coefficient::ttft_ms] * 1e-3; }
  /// Window tokens that batches count apart.
  const std::array<std::int64_t, most_windows>& windows() const { return windows_; }
  const ClockModel& model() const { return model_; }
  const ClockSplit& split() const { return split_; }
  const GpuSpeed& gpu() const { return gpu_; }
  const Coefficients& coefficients() const { return coefficients_; }

  static StepParts parts_of(const StepWorkload& work, const Coefficients& coefficients);
  static double seconds_of(const StepWorkload& work, const Coefficients& coefficients);
  /// Of the forward pass alone, launched as one: without what the CPU does before and behind it.
  static double forward_seconds_of(const StepWorkload& work, const Coefficients& coefficients);

 private:
  void add_collectives(StepWorkload& work, double rows) const;
  void add_drafter(StepWorkload& work, const StepBatch& batch) const;

  ClockModel model_;
  ClockSplit split_;
  GpuSpeed gpu_;
  Coefficients coefficients_;
  std::array<std::int64_t, most_windows> windows_{};
};

/// Distinct experts of a layer that `tokens` tokens touch where each takes `per_token` of `experts` at random.
double distinct_experts(double experts, double per_token, double tokens);

/// Launches of a layer of experts, where one in fp8 or bf16 beside a shared expert has 1.
double expert_launches(const ClockModel& model, const GpuSpeed& gpu);
/// The share of a GPU's peak that the tensor instructions of routed experts have.
double expert_peak_share(const ClockModel& model, const GpuSpeed& gpu);

/// Of a token of a prompt in the chunked scan of one of these layers.
double scanned_token_seconds(const StateWork& layers, const GpuSpeed& gpu);

}  // namespace hybridkv
