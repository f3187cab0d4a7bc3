#include "attention/kv_view.h"

#include <fmt/format.h>

#include <array>

namespace hybridkv {

namespace {

struct FormName {
  BackendForm form;
  std::string_view name;
};
constexpr std::array<FormName, 7> form_names{{{BackendForm::paged, "paged"},
                                              {BackendForm::flex, "flex"},
                                              {BackendForm::cpu, "cpu"},
                                              {BackendForm::diff_kv, "diff_kv"},
                                              {BackendForm::kv_first, "kv_first"},
                                              {BackendForm::kv_first_unordered, "kv_first_unordered"},
                                              {BackendForm::mla, "mla"}}};

struct OrderName {
  PhysicalOrder order;
  std::string_view name;
};
constexpr std::array<OrderName, 3> order_names{
    {{PhysicalOrder::nhd, "nhd"}, {PhysicalOrder::hnd, "hnd"}, {PhysicalOrder::head_major, "head_major"}}};

bool has_kv_axis(BackendForm form) {
  return form == BackendForm::paged || form == BackendForm::flex || form == BackendForm::kv_first ||
         form == BackendForm::kv_first_unordered;
}

bool is_kv_first(BackendForm form) {
  return form == BackendForm::kv_first || form == BackendForm::kv_first_unordered;
}

/// Axes of one layer inside one kernel block, in logical order, strides still open.
std::vector<Axis> inner_axes(const KvViewSpec& spec) {
  const Axis token{"token", spec.kernel_block_size_tokens, 0};
  const Axis head{"head", spec.kv_heads, 0};
  switch (spec.form) {
    case BackendForm::mla: return {token, {"channel", spec.head_size_k, 0}};
    case BackendForm::cpu: return {head, token, {"channel", Checked(spec.head_size_k) + spec.head_size_v, 0}};
    case BackendForm::diff_kv: return {token, head, {"channel", Checked(spec.head_size_k) + spec.head_size_v, 0}};
    default: return {{"kv", 2, 0}, token, head, {"channel", spec.head_size_k, 0}};
  }
}

/// The same axes from outermost to innermost in memory.
std::vector<AxisName> physical_axes(BackendForm form, PhysicalOrder order) {
  const bool heads_first = order != PhysicalOrder::nhd;
  switch (form) {
    case BackendForm::mla: return {"token", "channel"};
    case BackendForm::cpu: return {"head", "token", "channel"};
    case BackendForm::flex: return {"token", "kv", "head", "channel"};
    case BackendForm::kv_first_unordered: return {"kv", "token", "head", "channel"};
    case BackendForm::diff_kv:
      if (heads_first) return {"head", "token", "channel"};
      return {"token", "head", "channel"};
    default:
      if (heads_first) return {"kv", "head", "token", "channel"};
      return {"kv", "token", "head", "channel"};
  }
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
std::int64_t block_stride(const KvViewSpec& spec, std::int64_t layer_elements) {
  const std::int64_t element = element_bytes(spec.dtype);
  const std::int64_t kernel_blocks = spec.block_size_tokens / spec.kernel_block_size_tokens;
  const std::int64_t dense_bytes = Checked(spec.pack_size) * layer_elements * kernel_blocks * element;
  if (spec.page_bytes < dense_bytes)
    throw SpecError("engine.attention_pack_size",
                    fmt::format("a page of {} bytes does not hold {} layers of {} bytes", spec.page_bytes,
                                spec.pack_size, dense_bytes / spec.pack_size));
  if (spec.page_bytes == dense_bytes) return Checked(spec.pack_size) * layer_elements;
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

std::string_view to_string(BackendForm form) {
  for (const auto& [value, name] : form_names)
    if (value == form) return name;
  return "?";
}

std::optional<BackendForm> parse_backend_form(std::string_view text) {
  for (const auto& [value, name] : form_names)
    if (name == text) return value;
  return std::nullopt;
}

std::string_view to_string(PhysicalOrder order) {
  for (const auto& [value, name] : order_names)
    if (value == order) return name;
  return "?";
}

std::optional<PhysicalOrder> parse_physical_order(std::string_view text) {
  for (const auto& [value, name] : order_names)
    if (name == text) return value;
  return std::nullopt;
}

std::vector<Layout> kv_layouts(const KvViewSpec& spec) {
  check(spec);
  std::vector<Axis> axes = inner_axes(spec);
  Checked layer_elements = 1;
  for (const Axis& axis : axes) layer_elements *= axis.extent;
  const std::int64_t stride = block_stride(spec, layer_elements);
  std::int64_t layer_stride = stride / spec.pack_size;

  Checked inner_stride = 1;
  std::vector<AxisName> order = physical_axes(spec.form, spec.order);
  for (std::size_t i = order.size(); i-- > 0;) {
    for (Axis& axis : axes) {
      if (axis.name != order[i]) continue;
      axis.stride = inner_stride;
      inner_stride *= axis.extent;
    }
  }
  if (spec.order == PhysicalOrder::head_major && spec.form != BackendForm::mla) {
    // Head, layer, K/V, token, channel: the layers of the pack lie inside each head.
    const Checked slice = Checked(spec.kernel_block_size_tokens) * spec.head_size_k;
    layer_stride = 2 * slice;
    for (Axis& axis : axes) {
      if (axis.name == AxisName("kv")) axis.stride = slice;
      if (axis.name == AxisName("head")) axis.stride = Checked(spec.pack_size) * 2 * slice;
    }
  }

  const std::int64_t kernel_blocks = spec.block_size_tokens / spec.kernel_block_size_tokens;
  const Axis blocks{"block", Checked(spec.num_blocks) * kernel_blocks, stride};
  axes.insert(axes.begin() + (is_kv_first(spec.form) ? 1 : 0), blocks);

  std::vector<Layout> layers;
  for (std::int64_t layer = 0; layer < spec.pack_size; ++layer)
    layers.emplace_back(axes, Checked(layer) * layer_stride);
  return layers;
}

KeyValueLayouts key_value_layouts(BackendForm form, const Layout& layer, std::int64_t head_size_k,
                                  std::int64_t head_size_v) {
  const Axis block = layer.axis("block");
  const Axis token = layer.axis("token");
  const Axis head = form == BackendForm::mla ? Axis{"head", 1, 0} : layer.axis("head");
  const std::int64_t channel_stride = layer.stride("channel");
  std::int64_t value_offset = 0;
  if (has_kv_axis(form)) value_offset = layer.stride("kv");
  if (form == BackendForm::cpu || form == BackendForm::diff_kv) value_offset = head_size_k * channel_stride;
  return {Layout({block, token, head, {"channel", head_size_k, channel_stride}}, layer.offset()),
          Layout({block, token, head, {"channel", head_size_v, channel_stride}}, layer.offset() + value_offset)};
}

}  // namespace hybridkv
