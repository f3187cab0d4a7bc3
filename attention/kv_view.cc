#include "attention/kv_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "layout/permute.h"
#include "layout/repeat.h"
#include "layout/slice.h"
#include "layout/split.h"
#include "layout/stretch.h"

namespace hybridkv {

namespace {

bool has_kv_axis(BackendForm form) {
  return form == BackendForm::paged || form == BackendForm::flex || form == BackendForm::kv_first ||
         form == BackendForm::kv_first_unordered;
}

/// Names of the axes of a form, as many as it has.
struct AxisOrder {
  std::array<AxisName, 6> names{};
  std::size_t rank = 0;
  AxisOrder(std::initializer_list<AxisName> axes) : rank(axes.size()) {
    std::copy(axes.begin(), axes.end(), names.begin());
  }
  std::span<const AxisName> span() const { return {names.data(), rank}; }
};

/// Of the view of one layer, as its backend indexes it, behind the axis of the layers of the pack.
AxisOrder logical_axes(BackendForm form) {
  switch (form) {
    case BackendForm::mla: return {"layer", "block", "token", "channel"};
    case BackendForm::cpu:
    case BackendForm::slots: return {"layer", "block", "head", "token", "channel"};
    case BackendForm::diff_kv: return {"layer", "block", "token", "head", "channel"};
    case BackendForm::kv_first:
    case BackendForm::kv_first_unordered: return {"layer", "kv", "block", "token", "head", "channel"};
    default: return {"layer", "block", "kv", "token", "head", "channel"};
  }
}

/// Inside a kernel block from outermost to innermost in memory.
AxisOrder physical_axes(BackendForm form, PhysicalOrder order) {
  const bool heads_first = order != PhysicalOrder::nhd;
  switch (form) {
    case BackendForm::mla: return {"layer", "token", "channel"};
    case BackendForm::cpu: return {"layer", "head", "token", "channel"};
    case BackendForm::flex: return {"layer", "token", "kv", "head", "channel"};
    case BackendForm::kv_first_unordered: return {"layer", "kv", "token", "head", "channel"};
    case BackendForm::diff_kv:
    case BackendForm::slots:
      if (heads_first) return {"layer", "head", "token", "channel"};
      return {"layer", "token", "head", "channel"};
    default:
      if (order == PhysicalOrder::head_major) return {"head", "layer", "kv", "token", "channel"};
      if (heads_first) return {"layer", "kv", "head", "token", "channel"};
      return {"layer", "kv", "token", "head", "channel"};
  }
}

std::int64_t extent_of(AxisName axis, const KvViewSpec& spec) {
  if (axis == AxisName("layer")) return spec.pack_size;
  if (axis == AxisName("kv")) return 2;
  if (axis == AxisName("token")) return spec.kernel_block_size_tokens;
  if (axis == AxisName("head")) return spec.kv_heads;
  const bool side_by_side = spec.form != BackendForm::mla && !has_kv_axis(spec.form);
  return side_by_side ? Checked(spec.head_size_k) + spec.head_size_v : Checked(spec.head_size_k);
}

/// All layers of one kernel block, without padding.
Layout dense_kernel_block(const KvViewSpec& spec) {
  const AxisOrder order = physical_axes(spec.form, spec.order);
  std::array<Axis, 6> axes{};
  for (std::size_t i = 0; i < order.rank; ++i) axes[i] = {order.names[i], extent_of(order.names[i], spec)};
  return row_major(std::span(axes.data(), order.rank));
}

void check(const KvViewSpec& spec) {
  if (spec.kernel_block_size_tokens < 1 || spec.block_size_tokens % spec.kernel_block_size_tokens != 0)
    throw SpecError("engine.kernel_block_sizes",
                    fmt::format("a kernel block of {} tokens does not divide the block of {} tokens",
                                spec.kernel_block_size_tokens, spec.block_size_tokens));
  if (has_kv_axis(spec.form) && spec.head_size_k != spec.head_size_v)
    throw SpecError("engine.backend_form",
                    fmt::format("form {} keeps K and V in equal slices, but the head sizes are {} and {}; use diff_kv "
                                "or cpu",
                                to_string(spec.form), spec.head_size_k, spec.head_size_v));
  const bool has_head_major = spec.form == BackendForm::paged || spec.form == BackendForm::kv_first ||
                              spec.form == BackendForm::mla;
  if (spec.order == PhysicalOrder::head_major && !has_head_major)
    throw SpecError("engine.physical_order",
                    fmt::format("form {} has no head-major order; use it with paged, kv_first or mla",
                                to_string(spec.form)));
}

/// Elements from one kernel block to the next, the padding of the page shared out over its kernel blocks.
/// `dense`: elements of a kernel block.
std::int64_t block_stride(const KvViewSpec& spec, std::int64_t dense) {
  const std::int64_t element = element_bytes(spec.dtype);
  const std::int64_t kernel_blocks = spec.block_size_tokens / spec.kernel_block_size_tokens;
  const std::int64_t dense_bytes = Checked(dense) * kernel_blocks * element;
  if (spec.page_bytes < dense_bytes)
    throw SpecError("engine.attention_pack_size",
                    fmt::format("a page of {} bytes does not hold {} layers of {} bytes", spec.page_bytes,
                                spec.pack_size, dense_bytes / spec.pack_size));
  if (spec.page_bytes == dense_bytes) return dense;
  const std::int64_t grain = Checked(spec.pack_size) * kernel_blocks * element;
  if (spec.page_bytes % grain != 0)
    throw SpecError(
        kernel_blocks > 1 ? "engine.kernel_block_sizes" : "engine.attention_pack_size",
        fmt::format("the padded page of {} bytes ({} used) does not divide into {} kernel blocks of {} tokens times "
                    "{} layers of {}-byte elements, so a view with one block stride would leave the pool; use a kernel "
                    "block equal to the block ({} tokens) or a pack whose page needs no padding",
                    spec.page_bytes, dense_bytes, kernel_blocks, spec.kernel_block_size_tokens, spec.pack_size, element,
                    spec.block_size_tokens));
  return spec.page_bytes / element / kernel_blocks;
}

}  // namespace

Layout kv_pack_layout(const KvViewSpec& spec) {
  check(spec);
  const Layout dense = dense_kernel_block(spec);
  const std::int64_t stride = block_stride(spec, dense.num_elements());
  const std::int64_t kernel_blocks =
      Checked(spec.num_blocks) * (spec.block_size_tokens / spec.kernel_block_size_tokens);
  // Padding lies behind each layer, or where the layers lie inside each head behind all of them.
  const bool layer_outermost = dense[0].name == AxisName("layer");
  const Layout padded = layer_outermost ? stretch(dense, "layer", stride / spec.pack_size) : dense;
  return permute(repeat(padded, {"block", kernel_blocks, stride}), logical_axes(spec.form).span());
}

std::vector<Layout> kv_layouts(const KvViewSpec& spec) {
  const Layout pack = kv_pack_layout(spec);
  std::vector<Layout> layers;
  for (std::int64_t layer = 0; layer < spec.pack_size; ++layer) layers.push_back(slice(pack, "layer", layer));
  return layers;
}

KeyValueLayouts key_value_layouts(BackendForm form, const Layout& layer, std::int64_t head_size_k,
                                  std::int64_t head_size_v) {
  const auto part = [](const Layout& tensor, std::int64_t first, std::int64_t channels) {
    return permute(slice(tensor, "channel", first, channels), {"block", "token", "head", "channel"});
  };
  if (form == BackendForm::mla) {  // one head, of which V is the front
    const Layout latent =
        layer.find("head") >= 0 ? layer : split(layer, "channel", "head", "channel", layer.extent("channel"));
    return {part(latent, 0, head_size_k), part(latent, 0, head_size_v)};
  }
  if (has_kv_axis(form))
    return {part(slice(layer, "kv", 0), 0, head_size_k), part(slice(layer, "kv", 1), 0, head_size_v)};
  if (form == BackendForm::slots && layer.extent("channel") < Checked(head_size_k) + head_size_v) {
    const std::int64_t heads = layer.extent("head") / 2;
    return {part(slice(layer, "head", 0, heads), 0, head_size_k),
            part(slice(layer, "head", heads, heads), 0, head_size_v)};
  }
  return {part(layer, 0, head_size_k), part(layer, head_size_k, head_size_v)};
}

}  // namespace hybridkv
