#include "planner/views.h"

#include <fmt/format.h>

#include "layout/checked.h"

namespace hybridkv {

namespace {

void add_attention_views(std::vector<ViewPlan>& views, const CachePlan& plan, const SpecPlan& spec,
                         const std::vector<std::int64_t>& layers, std::int64_t pool) {
  const AttentionGeometry& attention = *spec.attention;
  const std::vector<Layout> layouts = kv_layouts({.form = attention.form,
                                                  .order = attention.order,
                                                  .dtype = attention.dtype,
                                                  .num_blocks = plan.num_blocks,
                                                  .block_size_tokens = spec.block_size_tokens,
                                                  .kernel_block_size_tokens = spec.kernel_block_size_tokens,
                                                  .kv_heads = attention.kv_heads,
                                                  .head_size_k = attention.head_size_k,
                                                  .head_size_v = attention.head_size_v,
                                                  .pack_size = spec.layers_per_page,
                                                  .page_bytes = plan.page_bytes});
  for (std::size_t i = 0; i < layers.size(); ++i)
    views.push_back({spec.id, layers[i], "kv", pool, attention.dtype, layouts[i]});
}

void add_state_views(std::vector<ViewPlan>& views, const CachePlan& plan, const SpecPlan& spec, std::int64_t layer,
                     std::int64_t pool) {
  for (const StateTensor& tensor : spec.state->tensors) {
    const std::int64_t element = element_bytes(tensor.dtype);
    if (plan.page_bytes % element != 0)
      throw SpecError(tensor.name == "conv" ? "engine.conv_dtype" : "engine.ssm_dtype",
                      fmt::format("a page of {} bytes holds no whole number of {}-byte {} elements; take a type of "
                                  "fewer bytes, or where attention shares the page a block size that is a multiple of {}",
                                  plan.page_bytes, element, tensor.name, element));
    std::vector<Axis> axes{{"block", plan.num_blocks, plan.page_bytes / element}};
    for (const Axis& axis : tensor.layout.axes()) axes.push_back(axis);
    views.push_back({spec.id, layer, tensor.name, pool, tensor.dtype, Layout(axes, tensor.byte_offset / element)});
  }
}

}  // namespace

std::vector<ViewPlan> make_views(const CachePlan& plan) {
  std::vector<ViewPlan> views;
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.specs[group.spec];
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      const auto pool = static_cast<std::int64_t>(page);
      if (spec.state)
        add_state_views(views, plan, spec, group.pages[page].front(), pool);
      else
        add_attention_views(views, plan, spec, group.pages[page], pool);
    }
  }
  return views;
}

}  // namespace hybridkv
