#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// What parameters belong to; how ranks share a part follows from it.
enum class ParameterPart {
  attention,         ///< projections of queries and of what attention puts out, gates: shared by heads
  keys_values,       ///< projections of keys and values: shared by KV heads, copied where there are fewer than ranks
  latents,           ///< projections into latents, indexers: every rank holds all of them
  recurrent,         ///< of recurrent layers: shared by heads or channels
  dense,             ///< MLPs that every token takes
  routed_experts,    ///< MLPs of which a token takes some: shared, or dealt out whole (expert parallel)
  shared_experts,    ///< MLPs beside the routed experts that every token takes
  norms,             ///< norms, routers and scales: every rank holds all of them
  embeddings,        ///< tables of tokens: shared by vocabulary
  head,              ///< onto the vocabulary, where it is no table of tokens again
  other_modalities,  ///< towers that see or hear, and what leads from them into the language model
};

inline constexpr auto parameter_part_names = std::to_array<Named<ParameterPart>>(
    {{ParameterPart::attention, "attention"},
     {ParameterPart::keys_values, "keys_values"},
     {ParameterPart::latents, "latents"},
     {ParameterPart::recurrent, "recurrent"},
     {ParameterPart::dense, "dense"},
     {ParameterPart::routed_experts, "routed_experts"},
     {ParameterPart::shared_experts, "shared_experts"},
     {ParameterPart::norms, "norms"},
     {ParameterPart::embeddings, "embeddings"},
     {ParameterPart::head, "head"},
     {ParameterPart::other_modalities, "other_modalities"}});
inline constexpr auto all_parameter_parts = values_of(parameter_part_names);

constexpr std::string_view to_string(ParameterPart value) { return name_in(parameter_part_names, value); }

/// A number of parameters for each part.
class ParameterCounts {
 public:
  std::int64_t& operator[](ParameterPart part) { return counts_[static_cast<std::size_t>(part)]; }
  std::int64_t operator[](ParameterPart part) const { return counts_[static_cast<std::size_t>(part)]; }
  /// Throws InputError where the sum needs more than 64 bits, as all sums here.
  ParameterCounts& operator+=(const ParameterCounts& other);
  std::int64_t total() const;
  bool operator==(const ParameterCounts&) const = default;

 private:
  std::array<std::int64_t, parameter_part_names.size()> counts_{};
};

/// Parameters of all layers of one kind.
struct KindParameters {
  std::string kind;            ///< as in the pattern of layers: "m", "a+m"; "-" for layers without a cache
  std::int64_t kv_heads = 0;   ///< of its attention; 0: it has none
  ParameterCounts counts;
  bool operator==(const KindParameters&) const = default;
};

/// How many parameters a model has, and where.
struct ModelParameters {
  std::vector<KindParameters> layers;
  ParameterCounts beside;             ///< of no layer: tables of tokens, the head, the last norm, other modalities
  ParameterCounts draft;              ///< of the layers that draft tokens; no published total counts them
  std::int64_t experts = 0;           ///< routed, of a layer; 0: there are none
  std::int64_t experts_per_token = 0;
  std::optional<double> weight_bits;  ///< of an element of a layer, scales included; nothing: the model's dtype
  std::optional<double> expert_bits;  ///< the same of routed experts; nothing: weight_bits
  std::vector<std::string> not_counted;  ///< parts that no rule counts, "vision"; empty: all are
  bool operator==(const ModelParameters&) const = default;
};

/// All parameters but those of drafts, by part.
ParameterCounts counts_of(const ModelParameters& parameters);
std::int64_t total_parameters(const ModelParameters& parameters);

/// Those that one token takes: of the routed experts its own alone. Tables of tokens count whole, as published numbers
/// of active parameters do; those of n-grams, which lie in layers and of which a token takes a few rows, do not.
/// Example: Mixtral 8x7B: 46,702,792,704 in total, 12,879,425,536 active.
std::int64_t active_parameters(const ModelParameters& parameters);

}  // namespace hybridkv
