#include "planner/encoder_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "planner/advised_release.h"

namespace hybridkv {

namespace {

void require_length(const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.encoder_tokens && !model.encoder_tokens)
    throw SpecError("engine.encoder_tokens",
                    "is missing: layers attend to an encoder, and the model does not say how many tokens it reads at "
                    "most; give those of a request");
  if (engine.encoder_tokens && model.encoder_tokens && *engine.encoder_tokens > *model.encoder_tokens)
    throw SpecError("engine.encoder_tokens",
                    fmt::format("{} are more than the encoder reads; take at most {}", *engine.encoder_tokens,
                                *model.encoder_tokens));
}

void refuse_engine(const EngineSpec& engine) {
  const EngineRules& rules = *engine.rules;
  const auto keeps = [](const EngineRules& other) { return other.without_encoders.empty(); };
  if (!keeps(rules)) {
    const EngineRules* const other = advised_release(keeps);
    throw SpecError("engine.release", fmt::format("{} {}{}", rules.title, rules.without_encoders,
                                                  other == nullptr ? "" : fmt::format("; take {}", other->name)));
  }
  if (engine.strategy != Strategy::packed_attention)
    throw SpecError("engine.strategy", fmt::format("{} is not planned with an encoder; take {}",
                                                   to_string(engine.strategy),
                                                   to_string(Strategy::packed_attention)));
}

/// What the engine switches off for an encoder, or has not beside it.
void refuse_settings(const EngineSpec& engine, const LimitsSpec& limits) {
  const auto refuse = [](const char* key, const std::string& message) { throw SpecError(key, message); };
  if (engine.attention_pack_size > 1)
    refuse("engine.attention_pack_size", fmt::format("{} layers a page beside an encoder are not planned; take 1",
                                                     engine.attention_pack_size));
  if (engine.decode_context_parallel > 1)
    refuse("engine.decode_context_parallel", "ranks do not share the tokens of an encoder; set it to 1");
  if (!engine.hybrid_manager)
    refuse("engine.hybrid_manager",
           "false: the engine does not start, as attention to an encoder is no kind of the others; leave it out");
  if (engine.mtp_layers > 0 || engine.draft)
    refuse(engine.draft ? "engine.draft" : "engine.mtp_layers",
           "layers that draft are not planned beside an encoder; leave them out");
  if (limits.max_model_lens.empty()) return;
  const std::int64_t longest = *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end());
  if (engine.max_num_batched_tokens < longest)
    refuse("engine.max_num_batched_tokens",
           fmt::format("{} are fewer than the longest length of {}, and with an encoder prompts are computed whole; "
                       "give at least as many", human_plural(engine.max_num_batched_tokens, "token"),
                       human_count(longest)));
}

}  // namespace

bool has_cross_attention(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) { return layer.cross.has_value(); });
}

std::int64_t encoder_tokens_of(const ModelSpec& model, const EngineSpec& engine) {
  return engine.encoder_tokens ? *engine.encoder_tokens : model.encoder_tokens.value();
}

void validate_encoder(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits) {
  if (!has_cross_attention(model)) {
    if (engine.encoder_tokens)
      throw SpecError("engine.encoder_tokens",
                      fmt::format("is {}, but no layer attends to an encoder; leave it out", *engine.encoder_tokens));
    return;
  }
  refuse_engine(engine);
  refuse_settings(engine, limits);
  require_length(model, engine);
}

}  // namespace hybridkv
