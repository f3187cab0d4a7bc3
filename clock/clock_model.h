#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clock/gpu_speed.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Layers of attention that do the same work.
struct AttentionWork {
  std::int64_t layers = 0;
  double prefill_flops = 0;      ///< a pair of query and key costs in a layer, all heads: 2 heads (d_qk + d_v)
  double decode_flops = 0;       ///< the same where one query reads the cache: of MLA, in the space of its latent
  double token_bytes = 0;        ///< that one rank keeps of a token in a layer
  std::int64_t window = 0;       ///< tokens that are read at most; 0: all
  bool operator==(const AttentionWork&) const = default;
};

/// Recurrent layers that do the same work.
struct StateWork {
  std::int64_t layers = 0;
  double recurrence = 0;         ///< elements of the recurrent state of one sequence in a layer on one rank
  double state_bytes = 0;        ///< of one sequence in a layer on one rank, with its convolution
  bool operator==(const StateWork&) const = default;
};

/// How weights lie in memory and are multiplied.
struct WeightFormat {
  double bytes = 2;              ///< of a parameter, scales included
  ComputeType type = ComputeType::bf16;
  bool operator==(const WeightFormat&) const = default;
  /// Products in fewer than 16 bits have their activations quantised first: one more kernel.
  bool quantises_activations() const { return type != ComputeType::bf16; }
};

/// What a model has to compute and to read, as far as its time goes: parameters and FLOPs of the whole model, what is
/// cached of one rank.
struct ClockModel {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::vector<AttentionWork> attention;
  std::vector<StateWork> states;
  double dense_parameters = 0;   ///< of every layer but routed experts: mixers, MLPs, shared experts, routers
  double expert_parameters = 0;  ///< of all routed experts of all layers
  std::int64_t experts = 0;      ///< routed, of a layer
  std::int64_t experts_per_token = 0;
  std::int64_t moe_layers = 0;
  bool shared_expert = false;         ///< beside the routed ones there is one that every token takes
  std::int64_t latent_layers = 0;     ///< of those with attention, the ones with latents
  double head_parameters = 0;    ///< hidden * vocabulary
  WeightFormat dense;
  WeightFormat expert;
  bool operator==(const ClockModel&) const = default;
};

/// How GPUs share it. Where more of them share the experts than the heads, requests are shared out to groups of
/// tensor_parallel GPUs, each with all layers but the routed experts (attention data parallel).
struct ClockSplit {
  std::int64_t tensor_parallel = 1;  ///< GPUs that share heads, states and dense layers
  std::int64_t gpus = 1;  ///< that share the routed experts: all of a replica, a multiple of tensor_parallel
  std::int64_t data_parallel() const { return gpus / tensor_parallel; }
  bool operator==(const ClockSplit&) const = default;
};

/// The work of a model on one rank of an engine, whose bytes are the plan's (make_specs) and whose parameters are the
/// model's. Weights of 8 bits and fewer are taken for fp8, int8 for bf16 products; of 4 bits for those that the GPU
/// multiplies in 4 bits where it can.
/// Heads of MLA are taken to be 128 wide beside the rotated part, as in all published models with latents but GLM-5.
/// Throws InputError where the model's parameters are not known, SpecError as make_specs.
ClockModel clock_model(const ModelSpec& model, const EngineSpec& engine, const GpuSpeed& gpu);

/// Bytes that one rank keeps of a sequence of so many tokens: K and V or latents, of windows what is in them, and
/// states.
double sequence_bytes(const ClockModel& model, double tokens);

/// A format of so many bits a parameter: products in fp8 up to 9 bits, and below 5 in 4 bits on a GPU that has such
/// units, else in bf16 after unpacking.
WeightFormat weight_format(double bits, const GpuSpeed& gpu);

}  // namespace hybridkv
