#pragma once

#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "report/document.h"
#include "report/table.h"

namespace hybridkv {

/// The parts of a plan's report, each a table or sentences that stand for themselves.
/// Pre, for all of them: every spec, group and pool that the plan refers to exists.

/// One row per spec: its layers, block, bytes per token or state, page and padding.
Table specs_table(const CachePlan& plan);

/// One row per run of groups that are alike but for their layers; the layers are those of the first of them.
Table groups_table(const CachePlan& plan);

/// One row per run of pools that are alike but for their layers, one column per spec: the layers that share the first.
Table pools_table(const CachePlan& plan);

/// What the engine allocates, one row per run of groups that lie alike: layers, strides and offset in bytes. Pre: the
/// plan is one allocation.
Table tensors_table(const CachePlan& plan);

/// One row per length that was asked about.
Table capacity_table(const CachePlan& plan);

/// Bytes that each block id of a group loses whatever it holds: one row per run of like groups, summed per row; the
/// footer sums one block of every group.
Table block_waste_table(const CachePlan& plan);

/// Where every byte of the pools goes under the stated load; the footer is their sum.
Table load_waste_table(const CachePlan& plan);
/// The load in words.
std::string load_sentence(const CachePlan& plan);

/// Extents and strides, in elements, of each tensor of each spec; all pages of a spec are laid out alike.
Facts view_shapes(const CachePlan& plan);
/// Where the views begin: one row per spec, tensor and offset, with the layers and pools that have it; the layers of a
/// large pack share one row.
Table views_table(const CachePlan& plan);

/// Memory of the attention biases of the stated batch in each mode. Pre: the plan has a workspace.
Facts workspace_facts(const CachePlan& plan);

/// The tensors of a state: "conv 3 x 6,144 bf16, ssm 32 x 128 x 128 fp32".
std::string state_text(const StateSpec& state);

}  // namespace hybridkv
