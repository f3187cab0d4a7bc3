#include "planner/views.h"

#include <fmt/format.h>

#include "layout/checked.h"

namespace hybridkv {

namespace {

/// Layouts of the tensors of one page: of attention one per layer of a full pack, of a state one per tensor. They are the
/// same for every page of a spec.
std::vector<Layout> attention_layouts(const CachePlan& plan, const SpecPlan& spec) {
  const AttentionGeometry& attention = *spec.attention;
  return kv_layouts({.form = attention.form,
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
}

std::vector<Layout> state_layouts(const CachePlan& plan, const SpecPlan& spec) {
  std::vector<Layout> layouts;
  for (const StateTensor& tensor : spec.state->tensors) {
    const std::int64_t element = element_bytes(tensor.dtype);
    if (plan.page_bytes % element != 0)
      throw SpecError(tensor.name == "conv" ? "engine.conv_dtype" : "engine.ssm_dtype",
                      fmt::format("a page of {} bytes holds no whole number of {}-byte {} elements; take a type of "
                                  "fewer bytes, or where attention shares the page a block size that is a multiple of {}",
                                  plan.page_bytes, element, tensor.name, element));
    std::vector<Axis> axes{{"block", plan.num_blocks, plan.page_bytes / element}};
    for (const Axis& axis : tensor.layout.axes()) axes.push_back(axis);
    layouts.emplace_back(axes, tensor.byte_offset / element);
  }
  return layouts;
}

std::vector<Layout> layouts_of(const CachePlan& plan, const SpecPlan& spec) {
  return spec.state ? state_layouts(plan, spec) : attention_layouts(plan, spec);
}

}  // namespace

std::vector<ViewPlan> make_views(const CachePlan& plan) {
  std::vector<ViewPlan> views;
  std::vector<std::vector<Layout>> layouts;
  for (const SpecPlan& spec : plan.specs) layouts.push_back(layouts_of(plan, spec));
  for (const GroupPlan& group : plan.groups) {
    const SpecPlan& spec = plan.specs[group.spec];
    const std::vector<Layout>& of_page = layouts[group.spec];
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      const std::vector<std::int64_t>& layers = group.pages[page];
      const auto pool = static_cast<std::int64_t>(page);
      if (spec.state)
        for (std::size_t i = 0; i < of_page.size(); ++i) {
          const StateTensor& tensor = spec.state->tensors[i];
          views.push_back({spec.id, layers.front(), tensor.name, pool, tensor.dtype, of_page[i]});
        }
      else
        for (std::size_t i = 0; i < layers.size(); ++i)
          views.push_back({spec.id, layers[i], "kv", pool, spec.attention->dtype, of_page[i]});
    }
  }
  return views;
}

void check_views(const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs) layouts_of(plan, spec);
}

}  // namespace hybridkv
