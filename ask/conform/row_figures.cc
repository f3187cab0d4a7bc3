#include "ask/conform/row_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

double printed_mib(std::int64_t bytes) {
  return std::stod(fmt::format("{:.2f}", static_cast<double>(bytes) / 0x1p20));
}

/// Bytes of K in a token of one layer. A type in blocks counts its bytes as heads of that size.
std::int64_t key_bytes(const AttentionGeometry& attention) {
  return Checked(attention.kv_heads) * attention.head_size_k *
         (counts_bytes(attention) ? 1 : element_bytes(attention.dtype));
}

/// Cells of all layers with a window, or of all without one: engines keep a cache for each kind.
Json cache_figures(const CachePlan& plan, bool windows) {
  const std::int64_t streams = plan.rows->unified ? 1 : plan.rows->sequences;
  Checked layers = 0, keys = 0, values = 0;
  std::int64_t cells = 0;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.spec_of(group);
    if (!spec.attention || (spec.attention->window_tokens > 0) != windows) continue;
    const std::int64_t ids = plan.arena_of(group).num_ids, key = key_bytes(*spec.attention);
    const Checked layer_cells = Checked(std::ssize(spec.layers)) * ids;
    layers += std::ssize(spec.layers);
    keys += layer_cells * key;
    values += layer_cells * (Checked(spec.bytes_per_token) - key);
    cells = ids / streams;
  }
  return {{"cells", cells},
          {"layers", static_cast<std::int64_t>(layers)},
          {"streams", streams},
          {"k_mib", printed_mib(keys)},
          {"v_mib", printed_mib(values)}};
}

bool has_windows(const CachePlan& plan) {
  return std::any_of(plan.specs.begin(), plan.specs.end(), [](const SpecPlan& spec) {
    return spec.attention && spec.attention->window_tokens > 0;
  });
}

/// Rows of convolutions and of what is behind them, over all layers.
void add_row_sizes(Json& record, const CachePlan& plan) {
  Checked conv = 0, state = 0;
  for (const GroupPlan& group : plan.groups) {
    if (!group.tensor) continue;
    const Checked bytes =
        Checked(plan.arena_of(group).num_ids) * std::ssize(group.pages) * plan.content_bytes(group);
    (plan.tensors_of(group).front().name.starts_with("conv") ? conv : state) += bytes;
  }
  record["conv_mib"] = printed_mib(conv);
  record["state_mib"] = printed_mib(state);
}

constexpr std::array row_rules{DerivedFigure{"sequences", "sequences"},
                               DerivedFigure{"rows_per_sequence", "rows of a sequence"},
                               DerivedFigure{"slot_cells", "cells of a sequence"},
                               DerivedFigure{"cells", "ids of cells"},
                               DerivedFigure{"batch_tokens", "tokens of a step"},
                               DerivedFigure{"step_tokens", "tokens of a pass"},
                               DerivedFigure{"caches.cells", "ids of cells"},
                               DerivedFigure{"caches.k_mib", "bytes of all ids of cells"},
                               DerivedFigure{"caches.v_mib", "bytes of all ids of cells"},
                               DerivedFigure{"conv_mib", "bytes of all ids of rows"},
                               DerivedFigure{"state_mib", "bytes of all ids of rows"}};

}  // namespace

Json row_figures(const CachePlan& plan) {
  const SequenceRows& rows = *plan.rows;
  Json record{{"sequences", rows.sequences},       {"rows_per_sequence", rows.rows_per_sequence},
              {"slot_cells", rows.slot_cells},     {"cells", rows.cells},
              {"batch_tokens", rows.batch_tokens}, {"step_tokens", rows.step_tokens}};
  record["caches"].push_back(cache_figures(plan, false));
  if (has_windows(plan)) record["caches"].push_back(cache_figures(plan, true));
  add_row_sizes(record, plan);
  return record;
}

std::span<const DerivedFigure> derived_row_figures() { return row_rules; }

}  // namespace hybridkv
