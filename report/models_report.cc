#include "report/models_report.h"

#include <fmt/format.h>

#include "planner/plan.h"
#include "report/document.h"
#include "report/json_text.h"
#include "report/plan_table.h"

namespace hybridkv {

namespace {

/// The plan of the model without any flag, on one rank; memory just enough, because only sizes are looked at.
CachePlan default_plan(const ModelSpec& model) {
  EngineSpec engine;
  engine.cache_mode = CacheMode::align;
  engine.num_blocks = std::int64_t(1) << 20;
  return make_plan(model, engine, LimitsSpec{.max_model_lens = {1}});
}

std::string layers_text(const CachePlan& plan) {
  std::string text;
  for (const SpecPlan& spec : plan.specs)
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", spec.layers.size(), spec.kind);
  return text;
}

}  // namespace

Table models_table(std::span<const ListedModel> models) {
  Table table({{"model", "model", "", Align::left},
               {"layers", "layers with a cache", "", Align::left},
               {"bytes_per_token", "a1", "bytes a token"},
               {"state_bytes", "M", "bytes a state"},
               {"block_size_tokens", "block", "tokens, N = 1"},
               {"padding_percent", "padding"},
               {"layer_order_verified", "order known"},
               {"aliases", "also", "", Align::left},
               {"source", "source", "", Align::left, Audience::programs}});
  for (const ListedModel& listed : models) {
    const CachePlan plan = default_plan(listed.model);
    const SpecPlan* attention = packed_attention(plan);
    const SpecPlan* state = largest_state(plan);
    table.add_row({listed.model.name, layers_text(plan),
                   attention != nullptr ? Cell(attention->bytes_per_token) : Cell(std::monostate{}),
                   state != nullptr ? Cell(state->state->bytes) : Cell(std::monostate{}),
                   attention != nullptr ? Cell(attention->block_size_tokens) : Cell(std::monostate{}),
                   state != nullptr ? Cell(Percent{state->padding_percent}) : Cell(std::monostate{}),
                   listed.model.layer_order_verified, listed.aliases, listed.model.source});
  }
  return table;
}

std::string render_models(std::span<const ListedModel> models, Format format, const Style& style) {
  const Table table = models_table(models);
  switch (format) {
    case Format::json: return json_text(to_json(table));
    case Format::csv: return render_csv(table);
    case Format::markdown: return render_markdown(table);
    case Format::table: break;
  }
  return render_text(table, style);
}

}  // namespace hybridkv
