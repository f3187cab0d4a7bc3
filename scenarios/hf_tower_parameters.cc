#include "scenarios/hf_tower_parameters.h"

#include <algorithm>
#include <string>

namespace hybridkv {

namespace {

/// What the towers of one family have in their layers.
struct TowerRow {
  std::string_view model_types;  ///< of the section, each between blanks
  bool is_gated = false;         ///< MLPs of three matrices
  bool has_biases = true;        ///< of all projections
  bool has_wide_norms = true;    ///< norms with biases
  std::string_view around = "";  ///< model_type of the wholes whose projector is known, as above; empty: of all
};

constexpr TowerRow merging_rows[] = {
    {" qwen3_vl qwen3_vl_vision qwen3_vl_moe qwen3_vl_moe_vision qwen3_5 qwen3_5_vision qwen3_5_moe "
     "qwen3_5_moe_vision "},
    {" qwen2_5_vl qwen2_5_vl_vision ", true, true, false},
};
constexpr TowerRow plain_rows[] = {
    {" siglip_vision_model ", false, true, true, " gemma3 paligemma shieldgemma2 "},
    {" pixtral ", true, false, false},
};

bool is_among(std::string_view words, std::string_view word) {
  return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

template <std::size_t size>
const TowerRow* row_of_tower(const TowerRow (&rows)[size], const std::string& model_type) {
  for (const TowerRow& row : rows)
    if (is_among(row.model_types, model_type)) return &row;
  return nullptr;
}

Checked linear(Checked inputs, Checked outputs, bool is_biased) { return (inputs + (is_biased ? 1 : 0)) * outputs; }

Checked tower_norm(const TowerRow& row, Checked size) { return size * (row.has_wide_norms ? 2 : 1); }

Checked tower_layer(const TowerRow& row, Checked size, Checked inner) {
  return 4 * linear(size, size, row.has_biases) + (row.is_gated ? 2 : 1) * linear(size, inner, row.has_biases) +
         linear(inner, size, row.has_biases) + 2 * tower_norm(row, size);
}

Checked patches(const HfShape& tower, Checked size) {
  const Checked side = tower.number({"patch_size"});
  return tower.number({"in_channels", "in_chans", "num_channels"}, 3) * tower.number({"temporal_patch_size"}, 1) *
         side * side * size;
}

/// Patches of which squares are merged into one token: Qwen.
std::int64_t merging_tower(const HfShape& tower, const TowerRow& row) {
  const Checked size = tower.number({"hidden_size"});
  const Checked side = tower.number({"spatial_merge_size"}, 2);
  const Checked merged = size * side * side;
  const Checked out = tower.number({"out_hidden_size"});
  const Checked merger = linear(merged, merged, true) + linear(merged, out, true);
  Checked sum = tower.number({"depth"}) * tower_layer(row, size, tower.number({"intermediate_size"}));
  sum += patches(tower, size) + tower_norm(row, size) + merger;
  if (const Checked positions = tower.number({"num_position_embeddings"}); positions != 0)
    sum += (positions + 1) * size;
  if (const YamlNode* deep = tower.list("deepstack_visual_indexes"))
    sum += std::ssize(deep->items) * (merger + tower_norm(row, merged));
  return sum;
}

/// A tower of patches, and the projector that goes with it.
std::int64_t plain_tower(const HfShape& tower, const TowerRow& row, Checked hidden) {
  const Checked size = tower.number({"hidden_size"});
  Checked sum = tower.number({"num_hidden_layers"}) * tower_layer(row, size, tower.number({"intermediate_size"}));
  sum += patches(tower, size);
  if (row.has_biases) {
    // Learned positions, the last norm, one matrix and a norm of the projector: Gemma 3.
    const Checked side = tower.number({"image_size"}) / std::max<std::int64_t>(1, tower.number({"patch_size"}, 1));
    if (tower.flag({"vision_use_head"}, true)) sum += tower_layer(row, size, tower.number({"intermediate_size"}));
    return sum + size + side * side * size + tower_norm(row, size) + size * hidden + size;
  }
  // Squares of patches become one, then two matrices: Mistral 3.
  constexpr std::int64_t merged = 4;
  return sum + 2 * size + merged * size * size + size * hidden + hidden * hidden;
}

}  // namespace

std::optional<std::int64_t> hf_tower_parameters(const HfShape& tower, std::string_view around, std::int64_t hidden) {
  const std::string type = tower.word("model_type");
  if (const TowerRow* row = row_of_tower(merging_rows, type); row && tower.number({"out_hidden_size"}) != 0)
    return merging_tower(tower, *row);
  const TowerRow* row = row_of_tower(plain_rows, type);
  const bool is_known = row && (row->around.empty() || is_among(row->around, around));
  if (is_known && tower.number({"image_size"}) != 0) return plain_tower(tower, *row, hidden);
  return std::nullopt;
}

}  // namespace hybridkv
