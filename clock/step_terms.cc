#include "clock/step_terms.h"

#include <algorithm>
#include <utility>

#include "clock/clock_constants.h"

namespace hybridkv {

namespace {

const char* flops_of(ComputeType type) {
  switch (type) {
    case ComputeType::fp4: return "(fp4, or the next wider that it has)";
    case ComputeType::fp8: return "(fp8, or the next wider that it has)";
    case ComputeType::bf16: break;
  }
  return "(bf16)";
}

class TermList {
 public:
  TermList(const StepClock& clock, const StepBatch& batch)
      : clock_(clock), model_(clock.model()), split_(clock.split()), gpu_(clock.gpu()), batch_(batch) {}

  std::vector<StepTerm> made() {
    add_products();
    add_attention();
    add_states();
    add_collectives();
    add_launches(true);
    const Coefficients& of = clock_.coefficients();
    add_time(StepPart::scheduler, {seconds_each(of[Coefficient::step_ms] * 1e-3, "a step (step_ms)")});
    add_time(StepPart::scheduler,
             {{batch_.decoding, "sequences"}, seconds_each(of[Coefficient::seq_us] * 1e-6, "(seq_us)")});
    add_time(StepPart::loads, {seconds_each(batch_.loaded_seconds, "of loads")});
    add_time(StepPart::loads, {seconds_each(clock_.parts(batch_)[StepPart::loads] - batch_.loaded_seconds,
                                            "left of loads that go on beside it")});
    if (batch_.draft_passes > 0) add_drafter();
    std::stable_sort(terms_.begin(), terms_.end(),
                     [](const StepTerm& a, const StepTerm& b) { return a.part < b.part; });
    return std::move(terms_);
  }

 private:
  using Factors = std::vector<TermFactor>;

  void add(StepPart part, TermKind kind, Factors times, Factors over) {
    StepTerm term{part, kind, std::move(times), std::move(over)};
    if (term.seconds() > 0) terms_.push_back(std::move(term));
  }

  void add_time(StepPart part, Factors times, Factors over = {}) {
    add(part, TermKind::time, std::move(times), std::move(over));
  }

  static TermFactor seconds_each(double seconds, const char* what) { return {seconds, what, FactorUnit::seconds}; }

  void add_flops(StepPart part, Factors times, ComputeType type, Factors over) {
    over.insert(over.begin(), {gpu_.flops(type), flops_of(type), FactorUnit::flops_per_second});
    add(part, TermKind::flops, std::move(times), std::move(over));
  }

  void add_bytes(StepPart part, Factors times, const Factors& shares = {}) {
    Factors by{{gpu_.memory_bytes_per_second, "", FactorUnit::bytes_per_second}};
    by.insert(by.end(), shares.begin(), shares.end());
    by.push_back({clock_.coefficients()[Coefficient::mem_eff], "mem_eff"});
    add(part, TermKind::bytes, std::move(times), std::move(by));
  }

  TermFactor ranks() const { return {static_cast<double>(split_.tensor_parallel), "ranks"}; }
  TermFactor gpus() const { return {static_cast<double>(split_.gpus), "GPUs"}; }

  /// Weights that one rank or GPU has.
  static TermFactor a_rank(double weights, const TermFactor& sharing, const char* what) {
    return {weights / sharing.value, what};
  }

  void add_products() {
    const Coefficients& of = clock_.coefficients();
    const TermFactor gemm{of[Coefficient::gemm_eff], "gemm_eff"};
    const TermFactor dense = a_rank(model_.dense_parameters, ranks(), "weights of a rank");
    add_flops(StepPart::linears, {{2, ""}, dense, {batch_.rows(), "rows"}}, model_.dense.type, {gemm});
    add_bytes(StepPart::linears, {dense, {model_.dense.bytes, "bytes each"}});
    if (model_.experts > 0) {
      const auto experts = static_cast<double>(model_.experts), taken = static_cast<double>(model_.experts_per_token);
      const TermFactor expert =
          a_rank(model_.expert_parameters / experts, gpus(), "weights of one expert a layer on a GPU");
      const double rows = batch_.rows() + batch_.elsewhere_rows;
      Factors reached{{of[Coefficient::moe_eff], "moe_eff"}};
      if (const double share = expert_peak_share(model_, gpu_); share < 1)
        reached.insert(reached.begin(), {share, "of it for what unpacks"});
      add_flops(StepPart::experts, {{2, ""}, expert, {taken, "experts of a row"}, {rows, "rows"}}, model_.expert.type,
                std::move(reached));
      add_bytes(StepPart::experts, {expert, {distinct_experts(experts, taken, rows), "distinct experts"},
                                    {model_.expert.bytes, "bytes each"}});
    }
    if (batch_.sampled > 0) {
      const TermFactor head = a_rank(model_.head_parameters, ranks(), "weights of the head on a rank");
      add_flops(StepPart::vocabulary, {{2, ""}, head, {batch_.sampled, "rows sampled"}}, ComputeType::bf16, {gemm});
      add_bytes(StepPart::vocabulary, {head, {2, "bytes each"}});
    }
  }

  void add_attention() {
    const TermFactor gemm{clock_.coefficients()[Coefficient::gemm_eff], "gemm_eff"};
    const TermFactor share{attention_share, "share of attention"};
    for (const AttentionWork& layers : model_.attention) {
      const TermFactor number{static_cast<double>(layers.layers),
                              layers.window > 0 ? "layers with a window" : "layers"};
      const StepReads reads = clock_.read_by(layers, batch_);
      const auto add_both = [&](StepPart part, TermFactor flops, TermFactor met, TermFactor read) {
        add_flops(part, {number, std::move(flops), std::move(met)}, ComputeType::bf16,
                  {ranks(), share, gemm});
        add_bytes(part, {number, {layers.token_bytes, "bytes of a token"}, std::move(read)}, {share});
      };
      add_both(StepPart::attention_decode, {layers.decode_flops, "FLOPs of a pair"}, {reads.decoded, "tokens read"},
               {reads.decoded, "tokens read"});
      add_both(StepPart::attention_prefill, {layers.prefill_flops, "FLOPs of a pair"}, {reads.pairs, "pairs"},
               {reads.context, "tokens read"});
    }
  }

  void add_states() {
    for (const StateWork& layers : model_.states) {
      const TermFactor number{static_cast<double>(layers.layers), "layers"};
      add_bytes(StepPart::states, {{2, "(read and written)"}, number, {layers.state_bytes, "bytes of a state"},
                                   {batch_.decoding + batch_.prompts + batch_.copied_states, "states"}});
      if (batch_.prompt_tokens == 0) continue;
      add_time(StepPart::scans, {number, seconds_each(scan_start_seconds, "to start a scan")});
      add_time(StepPart::scans, {number, {batch_.prompt_tokens, "tokens"},
                                 seconds_each(scanned_token_seconds(layers, gpu_), "a token")});
    }
  }

  void add_collectives() {
    const double share = split_.data_parallel() > 1 ? static_cast<double>(model_.moe_layers) : 0;
    const TermFactor latency =
        seconds_each(clock_.coefficients()[Coefficient::allreduce_us] * 1e-6, "(allreduce_us)");
    const TermFactor hidden{static_cast<double>(model_.hidden), "wide"};
    const TermFactor rate{gpu_.link_bytes_per_second / 2, "(half of a link)",
                          FactorUnit::bytes_per_second};
    if (split_.tensor_parallel > 1) {
      const TermFactor reduces{2 * static_cast<double>(model_.layers) - share, "all-reduces"};
      add_time(StepPart::collectives, {reduces, latency});
      add_time(StepPart::collectives,
               {reduces, {2, "ways"}, {batch_.rows(), "rows"}, hidden, {2, "bytes"},
                {ranks().value - 1, "other ranks"}},
               {ranks(), rate});
    }
    if (share == 0) return;
    const TermFactor exchanges{share, "exchanges"};
    add_time(StepPart::collectives, {exchanges, latency});
    add_time(StepPart::collectives,
             {exchanges, {batch_.rows(), "rows"},
              {std::min(static_cast<double>(model_.experts_per_token), gpus().value), "GPUs of a row"}, hidden,
              {sent_bytes + returned_bytes, "bytes"}, {gpus().value - 1, "other GPUs"}},
             {ranks(), gpus(), rate});
  }

  /// `with_mixers`: of layers with states or latents too.
  void add_launches(bool with_mixers) {
    const Coefficients& of = clock_.coefficients();
    const auto add_layers = [&](StepPart part, double layers, const char* what, Coefficient each, const char* name) {
      add_time(part, {{layers, what}, seconds_each(of[each] * 1e-6, name)});
    };
    const StepWorkload work = clock_.workload(without_drafts());
    add_layers(StepPart::launches, work.layers, "layers", Coefficient::layer_us, "(layer_us)");
    add_layers(StepPart::launches, work.moe_layers, "layers of experts", Coefficient::moe_layer_us, "(moe_layer_us)");
    if (with_mixers)
      add_layers(StepPart::launches, work.mixer_layers, "layers with states or latents", Coefficient::mixer_layer_us,
                 "(mixer_layer_us)");
    add_layers(StepPart::launches, work.quant_layers, "layers that quantise", Coefficient::quant_layer_us,
               "(quant_layer_us)");
    add_layers(StepPart::eager, work.eager_layers,
               "layers outside the graph, those with states or latents more than once",
               Coefficient::eager_layer_us, "(eager_layer_us)");
  }

  StepBatch without_drafts() const {
    StepBatch batch = batch_;
    batch.draft_passes = 0;
    return batch;
  }

  void add_drafter() {
    const auto [one, of_layers, of_attention] = clock_.draft_pass(batch_);
    TermList pass(clock_, one);
    pass.add_products();
    pass.add_attention();
    pass.add_collectives();
    pass.add_launches(false);
    for (StepTerm& term : pass.terms_) {
      TermFactor runs{of_layers, "of the drafter, as a share of the layers"};
      if (term.part == StepPart::vocabulary) runs = {batch_.draft_passes, "runs of the drafter"};
      if (term.part == StepPart::attention_decode) runs = {of_attention, "of the drafter, as a share of the attention"};
      term.times.push_back(std::move(runs));
      terms_.push_back(std::move(term));
    }
  }

  const StepClock& clock_;
  const ClockModel& model_;
  const ClockSplit& split_;
  const GpuSpeed& gpu_;
  const StepBatch& batch_;
  std::vector<StepTerm> terms_;
};

}  // namespace

double StepTerm::seconds() const {
  double seconds = 1;
  for (const TermFactor& factor : times) seconds *= factor.value;
  for (const TermFactor& factor : over) seconds /= factor.value;
  return seconds;
}

std::vector<StepTerm> step_terms(const StepClock& clock, const StepBatch& batch) {
  return TermList(clock, batch).made();
}

}  // namespace hybridkv
