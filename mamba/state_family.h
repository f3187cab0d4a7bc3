#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mamba/state_spec.h"

namespace hybridkv {

struct ChunkRows;          // mamba/chunk_rows.h
struct RecurrentStateRef;  // mamba/reference_step.h
struct RecurrentWeights;   // mamba/recurrent_weights.h
struct Reduction;          // mamba/reduction.h
struct RunningState;       // mamba/chunk_rows.h

/// Names under which a class of published configs declares one number, the preferred first.
struct PublishedNames {
  std::string_view config;  ///< a model_type of the class: "qwen3_next"
  std::vector<std::string> names;
};

/// What a whole number counts, which bounds it.
enum class FieldUnit { dimension, tokens };

/// One field of a family's spec: a key of scenarios and model files. A whole number whose value in a default spec is
/// below the minimum must be given; every other field keeps that value where nothing is given.
template <class Spec>
struct FamilyField {
  std::string_view name;  ///< of the key and of the member
  std::string_view doc;   ///< what it means, without the default
  std::variant<std::int64_t Spec::*, bool Spec::*, double Spec::*> member;
  std::int64_t minimum = 1;               ///< of a whole number
  FieldUnit unit = FieldUnit::dimension;  ///< of a whole number
  std::string_view default_note;          ///< what the default stands for: "no limit"
  std::string_view published_doc;         ///< what a published config is told to lack: "taps of the convolution"
  std::vector<PublishedNames> published;  ///< only where a config says the number itself, not a rule for it
};

/// What there is to say of a family besides what it does, and what only some families have.
template <class Spec>
struct FamilyTable {
  std::string_view name;  ///< in scenarios and JSON: "gdn"
  std::string_view doc;   ///< what the layer is and which models have it
  std::vector<FamilyField<Spec>> fields;  ///< every member of the spec
  /// Refuses what no field says alone, with SpecError below `path`. Pre: every field is in range by itself.
  void (*check)(const Spec& layer, const std::string& path) = nullptr;
  /// Tokens of one chunk of the parallel scan, where the layer fixes it.
  std::int64_t Spec::*scan_chunk = nullptr;
  /// Element type of the recurrent tensor, where the family fixes it whatever the model's dtype.
  std::optional<DType> ssm_dtype = std::nullopt;
  bool convolves_alone = false;  ///< nothing is scanned: its state is that of convolutions and delays
  /// The layer with as many heads more as let so many ranks share them, where engines pad the heads of the family.
  Spec (*padded)(Spec layer, std::int64_t ranks) = nullptr;
  /// Range of A_log in which trained layers decay.
  float least_decay_log = 0;
  float largest_decay_log = 1.2f;
  /// What a reduced layer shares otherwise than the whole one, for a reader; empty where nothing.
  std::string (*changed_ratio)(const Spec& whole, const Spec& reduced) = nullptr;
};

/// Why one axis of one tensor of a state is as long as it is.
struct AxisRule {
  struct Input {
    std::string_view symbol;
    std::int64_t value;
  };
  std::string_view tensor;
  std::string_view axis;
  std::string formula;  ///< in the symbols of the inputs
  std::vector<Input> inputs;
};

/// Channels of a convolution that belong together: those of one projection, made of parts that ranks share.
struct ChannelSection {
  std::string_view name;      ///< "q", "x", "B"
  std::int64_t parts = 0;     ///< heads, groups or channels of the whole model; base/rank_share.h says which a rank has
  std::int64_t channels = 0;  ///< of one part
};

/// What a layer of one rank looks like from outside: numbers of its rows, its convolution and its weights.
struct LayerSizes {
  std::int64_t input = 0;          ///< of one token
  std::int64_t output = 0;         ///< of one token
  std::int64_t conv_channels = 0;  ///< 0 for a family without a convolution
  std::int64_t conv_taps = 1;
  std::int64_t weight_taps = 0;    ///< that the weights have where another convolution behind lengthens the state
  bool conv_holds_drafts = false;  ///< the convolution state keeps the inputs of draft tokens too
  std::int64_t decay_log = 0;      ///< A_log
  std::int64_t step_bias = 0;      ///< dt_bias
  std::int64_t skip = 0;           ///< D
  std::int64_t gates = 0;          ///< products of blocks of channels
  std::int64_t gate_inputs = 1;    ///< channels that one gate reads
};

/// What makes a spec a family of recurrent layers. All of it stands in the family's own header and source; the list of
/// the families is RecurrentSpec.
///   family_of     its name, its fields and what only some families have
///   state_of      the tensors one rank keeps; throws SpecError("engine.tensor_parallel") for ranks that cannot share
///   axis_rules    why each axis of each of those tensors is as long as it is
///   sizes_of      of a layer of one rank
///   sections_of   of a whole layer: the projections side by side in its convolution, none without one
///   part_of_rank  the layer one rank computes; pre: state_of accepts the ranks
///   reduced       the layer at a fraction of its width, for proofs that compute it
///   run_token     one token in float64, the reference
///   run_chunk     consecutive tokens in float, the production form
/// The last two share no arithmetic but the activations: run_token uses only mamba/reference_step.h, run_chunk only
/// mamba/chunk_rows.h and the chunked recurrences, so that an error in one is seen in the other. They stand side by
/// side because a row of inputs means the same to both.
template <class Spec>
concept StateFamily = std::equality_comparable<Spec> &&
    requires(const Spec& layer, const StateContext& context, const Reduction& reduction,
             const RecurrentWeights& weights, std::span<const double> input, RecurrentStateRef& reference,
             std::span<double> output, const ChunkRows& rows, RunningState& running) {
  { family_of(layer) } -> std::same_as<const FamilyTable<Spec>&>;
  { state_of(layer, context) } -> std::same_as<StateSpec>;
  { axis_rules(layer, context) } -> std::same_as<std::vector<AxisRule>>;
  { sizes_of(layer) } -> std::same_as<LayerSizes>;
  { sections_of(layer) } -> std::same_as<std::vector<ChannelSection>>;
  { part_of_rank(layer, std::int64_t{1}) } -> std::same_as<Spec>;
  { reduced(layer, reduction) } -> std::same_as<Spec>;
  { run_token(layer, weights, input, reference, output) } -> std::same_as<void>;
  { run_chunk(layer, weights, rows, running) } -> std::same_as<void>;
};

/// Whether a layer must be given this field.
template <class Spec>
bool is_required(const FamilyField<Spec>& field) {
  const auto* member = std::get_if<std::int64_t Spec::*>(&field.member);
  return member != nullptr && Spec{}.**member < field.minimum;
}

/// The share of one rank in `count` things of a layer ("heads", "channels"). Throws SpecError("engine.tensor_parallel")
/// with the divisors where the ranks cannot share them.
std::int64_t share_of_rank(std::int64_t count, std::string_view things, std::string_view family,
                           const StateContext& context);

/// Refuses heads that cannot share others in equal parts, by their numbers, with SpecError(path) and the numbers
/// nearest to what was given. Pre: both >= 1.
void check_shared_evenly(std::int64_t heads, std::string_view what, std::int64_t shared, std::string_view shared_what,
                         const std::string& path);

/// Rules of axes that several families have: the steps of a convolution, with or without those of drafts; an axis of
/// `what` that ranks split; an axis of the recurrent tensor that every rank keeps whole.
AxisRule conv_steps_rule(std::int64_t conv_kernel, const StateContext& context, bool holds_drafts = true);
AxisRule split_axis_rule(std::string_view tensor, std::string_view axis, std::string_view what, std::int64_t value,
                         const StateContext& context);
AxisRule whole_axis_rule(std::string_view axis, std::string_view what, std::int64_t value);

}  // namespace hybridkv
