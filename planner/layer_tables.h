#pragma once

#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/supposed_groups.h"

namespace hybridkv {

/// Layers of one spec under one block table.
struct TablePart {
  std::int64_t spec = 0;             ///< SpecPlan::id
  std::vector<std::int64_t> layers;  ///< in the order of their pages
  std::int64_t layers_per_page = 1;  ///< N of packs: layers are taken N at a time
  bool drafts = false;               ///< its table holds layers of a drafter, on whatever stage of a pipeline

  /// The layers page by page; the last may have fewer than the others.
  std::vector<std::vector<std::int64_t>> pages() const { return in_pages_of(layers, layers_per_page); }
  std::int64_t num_pages() const { return ceil_div(static_cast<std::int64_t>(layers.size()), layers_per_page); }
};

/// Layers that share a block table. Specs of several page sizes may.
using LayerTable = std::vector<TablePart>;

/// Bytes of a page of each spec, by SpecPlan::id.
using PageBytes = std::vector<std::int64_t>;

/// Bytes that the pages of a table take of a block.
std::int64_t table_bytes(const LayerTable& table, const PageBytes& pages);

/// Tables of pages of one size: g pages a table (pages_per_group), table i of a spec takes pages i, i + tables, …
std::vector<LayerTable> uniform_tables(std::span<const SpecPlan> specs, std::int64_t pages_per_table);

/// The tables that are supposed, one a group, spec by spec; what is not supposed is grouped as wide as the widest.
std::vector<LayerTable> supposed_tables(std::span<const SpecPlan> specs, const SupposedGroups& supposed);

/// One table of all layers, spec by spec.
std::vector<LayerTable> single_table(std::span<const SpecPlan> specs);

/// Tables of layers whose pages differ, where the bytes of a block lie together.
///
/// Specs of one kind and block make a bucket: full attention and latents are one kind, windows of one size another,
/// states a third, auxiliary layers each their own. A bucket is balanced where it has equally many layers of each page
/// size; x of them. With a balanced bucket of several sizes, r is the number from its x to the largest x that leaves
/// the fewest places empty (sum of -x mod r over balanced buckets; of equals the larger): a balanced bucket makes
/// ceil(x / r) tables, any other one. States (and windows where there is no r) then get as many more as they need to be
/// no wider than the widest of the others. Table i takes layers i, i + tables, … of each size.
/// Source: vLLM 0.33 get_kv_cache_groups.
std::vector<LayerTable> mixed_tables(std::span<const SpecPlan> specs, const PageBytes& pages);

/// Layers of the stages of a pipeline, where the model has `layers`: as given, else as even as engines make them, the
/// stages before the last taking what is left over, from the last but one down. Drafts and MTP layers are on the last.
/// Source: vLLM get_pp_indices.
std::vector<std::int64_t> layers_of_stages(std::int64_t layers, std::int64_t stages);

}  // namespace hybridkv
