#include "planner/replay_rows.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"
#include "planner/replay_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_flashinfer_tokens = 16;

/// What a rank has of a Mamba-2 layer, as its state says.
struct StateAxes {
  std::int64_t heads = 0, dim = 0, state = 0, groups = 0;
};

StateAxes axes_of(const StateSpec& state) {
  const Layout& conv = state.tensors[0].layout;
  const Layout& ssm = state.tensors[1].layout;
  StateAxes axes{ssm.extent("head"), ssm.extent("dim"), ssm.extent("state"), 0};
  // The convolution is over x of all heads, and B and C of all groups.
  axes.groups = (conv.extent("channel") - Checked(axes.heads) * axes.dim) / (2 * axes.state);
  return axes;
}

bool uses_flashinfer(const EngineSpec& engine) {
  return engine.own[replay_key::mamba_backend] == StateKernels::flashinfer;
}

void refuse_flashinfer_settings(const EngineSpec& engine) {
  const std::int64_t kept = engine.own[replay_key::replayssm_buffer_len], step = 1 + engine.speculative_tokens;
  if (kept > most_flashinfer_tokens)
    throw SpecError("engine.replayssm_buffer_len", fmt::format("is {}; FlashInfer's kernels keep at most {} tokens",
                                                               kept, most_flashinfer_tokens));
  if (kept < step)
    throw SpecError("engine.replayssm_buffer_len",
                    fmt::format("is {}, fewer than the {} tokens of a step with drafts; take at least as many, or "
                                "fewer drafts", kept, step));
  if (engine.cache_mode != CacheMode::none)
    throw SpecError("engine.cache_mode", "caches prefixes, which FlashInfer's kernels do not do with "
                                         "engine.use_replayssm; take none, or engine.mamba_backend triton");
}

}  // namespace

void validate_replay(const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.own[replay_key::use_replayssm]) return;
  bool any = false;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.recurrent) continue;
    any = true;
    if (!std::holds_alternative<Mamba2Spec>(*layer.recurrent))
      throw SpecError("engine.use_replayssm",
                      fmt::format("keeps the inputs of mamba2 layers alone, and {} has {} layers; leave it out",
                                  model.name, family_name(*layer.recurrent)));
  }
  if (!any)
    throw SpecError("engine.use_replayssm",
                    fmt::format("keeps the inputs of mamba2 layers, and {} has none; leave it out", model.name));
  if (uses_flashinfer(engine)) return refuse_flashinfer_settings(engine);
  if (engine.speculative_tokens > 0)
    throw SpecError("engine.use_replayssm", "with draft tokens needs the kernels of FlashInfer; set "
                                            "engine.mamba_backend: flashinfer, or leave one of both out");
}

std::int64_t replay_rows(const EngineSpec& engine) {
  const Checked kept = engine.own[replay_key::replayssm_buffer_len];
  return uses_flashinfer(engine) ? kept + 1 + engine.speculative_tokens : kept;
}

void append_replay_ring(StateSpec& state, const ModelSpec& model, const EngineSpec& engine) {
  const StateAxes axes = axes_of(state);
  const Axis row{"row", replay_rows(engine), 0};
  std::vector<StateTensor> tensors = std::move(state.tensors);
  tensors.push_back({"x_ring", model.dtype, Layout({{"head", axes.heads, 0}, row, {"dim", axes.dim, 0}}), 0});
  tensors.push_back({"dt_ring", DType::fp32, Layout({{"head", axes.heads, 0}, row}), 0});
  tensors.push_back({"b_ring", model.dtype, Layout({{"group", axes.groups, 0}, row, {"state", axes.state, 0}}), 0});
  state = place_state_tensors(std::move(tensors));
}

void derive_replay_ring(const SpecPlan& spec, const EngineSpec& engine, Derivation& derivation) {
  const StateAxes axes = axes_of(*spec.state);
  const std::string label = spec_label(spec);
  const auto add = [&](const char* axis, const char* tensor, std::int64_t value, const char* rule,
                       std::vector<Term> inputs) {
    derivation.push_back({{fmt::format("{} of {}, {}", axis, tensor, label), value, ""}, rule, std::move(inputs),
                          cited(*engine.rules, RuleOf::state_shape)});
  };
  std::vector<Term> rows{{"tokens kept", engine.own[replay_key::replayssm_buffer_len], "tokens"}};
  if (uses_flashinfer(engine)) rows.push_back({"s", engine.speculative_tokens, "tokens"});
  for (const char* tensor : {"x_ring", "dt_ring", "b_ring"})
    add("row", tensor, replay_rows(engine),
        uses_flashinfer(engine) ? "row = tokens kept + 1 + s: the kernels keep those of the step too"
                                : "row = tokens kept",
        rows);
  const Term heads{"heads of the state", axes.heads, ""};
  add("head", "x_ring", axes.heads, "head = heads of the state", {heads});
  add("head", "dt_ring", axes.heads, "head = heads of the state", {heads});
  add("dim", "x_ring", axes.dim, "dim = dim of the state", {{"dim of the state", axes.dim, ""}});
  add("state", "b_ring", axes.state, "state = state of the state", {{"state of the state", axes.state, ""}});
  add("group", "b_ring", axes.groups,
      "group = (channel - head * dim) / (2 * state): the convolution is over x, B and C",
      {{"channel", spec.state->tensors[0].layout.extent("channel"), ""},
       {"head", axes.heads, ""},
       {"dim", axes.dim, ""},
       {"state", axes.state, ""}});
}

}  // namespace hybridkv
