#include "clock/step_clock.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "clock/clock_constants.h"

namespace hybridkv {

namespace {

double taken(const OperatorWork& work, double flop_eff, double byte_eff) {
  return std::max(work.flop_seconds / flop_eff, work.byte_seconds / byte_eff);
}

/// Are experts of 4 bits multiplied in more of them?
bool unpacks_experts(const ClockModel& model, const GpuSpeed& gpu) {
  return model.expert.bytes < 1 && !(gpu.fp4_flops > 0 && model.expert.type != ComputeType::bf16);
}

}  // namespace

double expert_launches(const ClockModel& model, const GpuSpeed& gpu) {
  const double beside = model.shared_expert ? 1 : lone_experts;
  if (model.expert.bytes >= 1) return beside;
  return beside * (unpacks_experts(model, gpu) ? unpacked_experts : fused_experts);
}

double expert_peak_share(const ClockModel& model, const GpuSpeed& gpu) {
  return unpacks_experts(model, gpu) && gpu.fp4_flops > 0 ? unpacked_share : 1;
}

double scanned_token_seconds(const StateWork& layers, const GpuSpeed& gpu) {
  return std::max(scan_token_seconds, gpu.scan_head_seconds * layers.recurrence / scan_head_elements);
}

double StepParts::total() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

double distinct_experts(double experts, double per_token, double tokens) {
  if (per_token >= experts) return tokens > 0 ? experts : 0;
  return experts * -std::expm1(tokens * std::log1p(-per_token / experts));
}

StepClock::StepClock(const ClockModel& model, const ClockSplit& split, const GpuSpeed& gpu,
                     const Coefficients& coefficients)
    : model_(model), split_(split), gpu_(gpu), coefficients_(coefficients) {
  std::size_t next = 0;
  for (const AttentionWork& layers : model_.attention) {
    if (layers.window == 0 || std::find(windows_.begin(), windows_.end(), layers.window) != windows_.end()) continue;
    windows_[std::min(next++, most_windows - 1)] = layers.window;
  }
}

StepReads StepClock::read_by(const AttentionWork& layers, const StepBatch& batch) const {
  if (layers.window == 0) return {batch.prompt_pairs, batch.prompt_context, batch.decode_context};
  const auto at = static_cast<std::size_t>(std::find(windows_.begin(), windows_.end() - 1, layers.window) -
                                           windows_.begin());
  return {batch.window_pairs[at], batch.window_context[at], batch.window_decode[at]};
}

StepWorkload StepClock::workload(const StepBatch& batch) const {
  StepWorkload work;
  const auto ranks = static_cast<double>(split_.tensor_parallel);
  const auto gpus = static_cast<double>(split_.gpus);
  const double bandwidth = gpu_.memory_bytes_per_second;
  const double rows = batch.rows();
  const double dense = model_.dense_parameters / ranks;
  work.linears = {2 * dense * rows / gpu_.flops(model_.dense.type), dense * model_.dense.bytes / bandwidth};
  if (model_.experts > 0) {
    const auto experts = static_cast<double>(model_.experts);
    const auto per_token = static_cast<double>(model_.experts_per_token);
    const double share = model_.expert_parameters / experts / gpus;
    const double all_rows = rows + batch.elsewhere_rows;
    const double peak = gpu_.flops(model_.expert.type) * expert_peak_share(model_, gpu_);
    work.experts = {2 * share * per_token * all_rows / peak,
                    share * distinct_experts(experts, per_token, all_rows) * model_.expert.bytes / bandwidth};
  }
  const double head = model_.head_parameters / ranks;
  if (batch.sampled > 0)
    work.vocabulary = {2 * head * batch.sampled / gpu_.flops(ComputeType::bf16), 2 * head / bandwidth};
  for (const AttentionWork& layers : model_.attention) {
    const auto [pairs, context, decoded] = read_by(layers, batch);
    const auto number = static_cast<double>(layers.layers);
    const double token_bytes = layers.token_bytes * number;
    const double peak = gpu_.flops(ComputeType::bf16) * ranks / number;
    work.attention_decode.flop_seconds += layers.decode_flops * decoded / peak;
    work.attention_decode.byte_seconds += decoded * token_bytes / bandwidth;
    work.attention_prefill.flop_seconds += layers.prefill_flops * pairs / peak;
    work.attention_prefill.byte_seconds += context * token_bytes / bandwidth;
  }
  for (const StateWork& layers : model_.states) {
    const auto number = static_cast<double>(layers.layers);
    // A decoding sequence reads its state and writes it; so does a prompt once, and a copy.
    work.states.byte_seconds +=
        2 * layers.state_bytes * number * (batch.decoding + batch.prompts + batch.copied_states) / bandwidth;
    work.mixer_layers += number;
    if (batch.prompt_tokens > 0) {
      work.scan_seconds += number * (scan_start_seconds + batch.prompt_tokens * scanned_token_seconds(layers, gpu_));
    }
  }
  work.layers = static_cast<double>(model_.layers);
  const auto latent_layers = static_cast<double>(model_.latent_layers);
  work.mixer_layers += latent_layers;
  work.moe_layers = static_cast<double>(model_.moe_layers) * expert_launches(model_, gpu_);
  work.quant_layers = model_.dense.quantises_activations() || model_.expert.quantises_activations() ? work.layers : 0;
  if (batch.prompt_tokens > 0)
    work.eager_layers =
        work.layers + eager_latent_layers * latent_layers + eager_state_layers * (work.mixer_layers - latent_layers);
  work.sequences = batch.decoding;
  work.loaded_seconds = batch.loaded_seconds;
  work.loaded_beside_seconds = batch.loaded_beside_seconds;
  add_collectives(work, rows);
  if (batch.draft_passes > 0) add_drafter(work, batch);
  return work;
}

void StepClock::add_collectives(StepWorkload& work, double rows) const {
  const auto ranks = static_cast<double>(split_.tensor_parallel), gpus = static_cast<double>(split_.gpus);
  const auto hidden = static_cast<double>(model_.hidden);
  // The measured rate is half of one way of the link.
  const double rate = gpu_.link_bytes_per_second / 2;
  const double exchanges = split_.data_parallel() > 1 ? static_cast<double>(model_.moe_layers) : 0;
  if (split_.tensor_parallel > 1) {
    // A ring moves every element nearly twice.
    const double allreduces = 2 * work.layers - exchanges;
    work.allreduces += allreduces;
    work.link_seconds += allreduces * 2 * rows * hidden * 2 * (ranks - 1) / ranks / rate;
  }
  // Rows go to the GPUs of their experts and come back: two halves of an all-reduce, as far as their latency goes.
  const double reached = std::min(static_cast<double>(model_.experts_per_token), gpus);
  work.allreduces += exchanges;
  work.link_seconds +=
      exchanges * rows / ranks * reached * hidden * (sent_bytes + returned_bytes) * (gpus - 1) / gpus / rate;
}

DraftPass StepClock::draft_pass(const StepBatch& batch) const {
  DraftPass pass;
  StepBatch& one = pass.batch;
  one.decoding = one.decode_rows = one.sampled = batch.decoding;
  one.decode_context = batch.decode_context;
  one.window_decode = batch.window_decode;
  one.elsewhere_rows = batch.decode_rows > 0 ? batch.elsewhere_rows * batch.decoding / batch.rows() : 0;
  std::int64_t attention = 0;
  for (const AttentionWork& layers : model_.attention) attention += layers.layers;
  pass.of_layers = batch.draft_passes / static_cast<double>(std::max<std::int64_t>(1, model_.layers));
  pass.of_attention = batch.draft_passes / static_cast<double>(std::max<std::int64_t>(1, attention));
  return pass;
}

void StepClock::add_drafter(StepWorkload& work, const StepBatch& batch) const {
  const auto [one, of_layers, of_attention] = draft_pass(batch);
  const StepWorkload model = workload(one);
  const double passes = batch.draft_passes;
  const auto add = [](OperatorWork& to, const OperatorWork& from, double share) {
    to.flop_seconds += from.flop_seconds * share;
    to.byte_seconds += from.byte_seconds * share;
  };
  add(work.linears, model.linears, of_layers);
  add(work.experts, model.experts, of_layers);
  add(work.vocabulary, model.vocabulary, passes);
  add(work.attention_decode, model.attention_decode, of_attention);
  work.link_seconds += model.link_seconds * of_layers;
  for (double StepWorkload::*launches : {&StepWorkload::allreduces, &StepWorkload::layers, &StepWorkload::moe_layers,
                                         &StepWorkload::quant_layers})
    work.*launches += model.*launches * of_layers;
}

StepParts StepClock::parts_of(const StepWorkload& work, const Coefficients& of) {
  const double gemm = of[Coefficient::gemm_eff], memory = of[Coefficient::mem_eff];
  StepParts parts;
  parts[StepPart::linears] = taken(work.linears, gemm, memory);
  parts[StepPart::experts] = taken(work.experts, of[Coefficient::moe_eff], memory);
  parts[StepPart::vocabulary] = taken(work.vocabulary, gemm, memory);
  const double attention_gemm = attention_share * gemm, attention_memory = attention_share * memory;
  parts[StepPart::attention_decode] = taken(work.attention_decode, attention_gemm, attention_memory);
  parts[StepPart::attention_prefill] = taken(work.attention_prefill, attention_gemm, attention_memory);
  parts[StepPart::states] = taken(work.states, gemm, memory);
  parts[StepPart::scans] = work.scan_seconds;
  parts[StepPart::collectives] = work.allreduces * of[Coefficient::allreduce_us] * 1e-6 + work.link_seconds;
  parts[StepPart::launches] =
      1e-6 * (work.layers * of[Coefficient::layer_us] + work.moe_layers * of[Coefficient::moe_layer_us] +
              work.mixer_layers * of[Coefficient::mixer_layer_us] +
              work.quant_layers * of[Coefficient::quant_layer_us]);
  parts[StepPart::eager] = 1e-6 * work.eager_layers * of[Coefficient::eager_layer_us];
  parts[StepPart::scheduler] = 1e-3 * of[Coefficient::step_ms] + 1e-6 * work.sequences * of[Coefficient::seq_us];
  const double computed = parts.total();
  parts[StepPart::loads] = work.loaded_seconds + std::max(0.0, work.loaded_beside_seconds - computed);
  return parts;
}

double StepClock::seconds_of(const StepWorkload& work, const Coefficients& of) { return parts_of(work, of).total(); }

double StepClock::forward_seconds_of(const StepWorkload& work, const Coefficients& of) {
  const StepParts parts = parts_of(work, of);
  return parts.total() - parts[StepPart::scheduler] - parts[StepPart::eager];
}

}  // namespace hybridkv
