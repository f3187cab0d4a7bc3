#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/named_values.h"
#include "layout/layout.h"

namespace hybridkv {

/// The axes by which a backend indexes a paged cache (b = tokens of a kernel block).
enum class BackendForm {
  paged,               ///< (block, kv, token, head, channel): FlashAttention, FlashInfer, Triton
  flex,                ///< the same axes, K and V of one token side by side; one physical order
  cpu,                 ///< (block, head, token, channel of K then V); one physical order
  diff_kv,             ///< (block, token, head, channel of K then V); K and V may differ in size
  kv_first,            ///< (kv, block, token, head, channel); physically like paged
  kv_first_unordered,  ///< kv_first of a backend without an order of its own: always NHD
  mla,                 ///< (block, token, channel): one latent per token; of one allocation with a head of extent 1
  slots,               ///< (block, head, token, channel of K then V), of an order of one allocation (cache_layout.h);
                       ///< where K and V have slots of their own, those of V follow those of K
};

/// Order of a page in memory, outermost first; the block axis is outermost in all of them.
enum class PhysicalOrder {
  nhd,         ///< token before head
  hnd,         ///< head before token
  head_major,  ///< head, then layer of the pack, then K/V: a slice per head has the same bytes under any TP
};

inline constexpr auto backend_form_names = std::to_array<Named<BackendForm>>(
    {{BackendForm::paged, "paged"},
     {BackendForm::flex, "flex"},
     {BackendForm::cpu, "cpu"},
     {BackendForm::diff_kv, "diff_kv"},
     {BackendForm::kv_first, "kv_first"},
     {BackendForm::kv_first_unordered, "kv_first_unordered"},
     {BackendForm::mla, "mla"},
     {BackendForm::slots, "slots"}});
inline constexpr auto all_backend_forms = values_of(backend_form_names);

constexpr std::string_view to_string(BackendForm value) { return name_in(backend_form_names, value); }
constexpr std::optional<BackendForm> parse_backend_form(std::string_view name) {
  return value_in(backend_form_names, name);
}

inline constexpr auto physical_order_names = std::to_array<Named<PhysicalOrder>>(
    {{PhysicalOrder::nhd, "nhd"},
     {PhysicalOrder::hnd, "hnd"},
     {PhysicalOrder::head_major, "head_major"}});
inline constexpr auto all_physical_orders = values_of(physical_order_names);

constexpr std::string_view to_string(PhysicalOrder value) { return name_in(physical_order_names, value); }
constexpr std::optional<PhysicalOrder> parse_physical_order(std::string_view name) {
  return value_in(physical_order_names, name);
}

/// All that the strides of the attention layers of one pack depend on, per rank.
struct KvViewSpec {
  BackendForm form = BackendForm::paged;
  PhysicalOrder order = PhysicalOrder::nhd;
  DType dtype = DType::bf16;
  std::int64_t num_blocks = 0;                ///< pages of the pool
  std::int64_t block_size_tokens = 0;         ///< B
  std::int64_t kernel_block_size_tokens = 0;  ///< b, divides B
  std::int64_t kv_heads = 0;                  ///< of this rank; 1 for mla
  std::int64_t head_size_k = 0;               ///< for mla the whole latent
  std::int64_t head_size_v = 0;               ///< ignored for mla
  std::int64_t pack_size = 1;                 ///< N, layers that share the page
  std::int64_t page_bytes = 0;                ///< P, padding included
};

/// The layers of the pack as one layout: (layer, then the axes of the form); "block" counts kernel blocks. Elements
/// from the front of the page.
///
/// Inside a page the layers interleave per kernel block, because one block stride must step over kernel
/// blocks and pages alike. Padding of a page is shared out over its kernel blocks and layers.
/// Throws SpecError where no such view exists: the kernel block does not divide the block, the page is too
/// small, the padded page does not divide over layers or kernel blocks (a view would leave the pool), the
/// form needs head sizes that are equal, or has no head-major order.
/// Source: vLLM PR 35703.
Layout kv_pack_layout(const KvViewSpec& spec);

/// The same layer by layer: one layout each, logical axes in the order of the form. Throws as kv_pack_layout.
/// Example: paged, nhd, N = 5, B = b = 432, one head of 256, bf16: strides (1105920, 110592, 256, 256, 1),
/// offsets 0, 221184, 442368, …
std::vector<Layout> kv_layouts(const KvViewSpec& spec);

/// K and V of one layer, each as (block, token, head, channel), whatever the form; for mla K is the latent
/// and V its first head_size_v channels.
struct KeyValueLayouts {
  Layout key;
  Layout value;
};
KeyValueLayouts key_value_layouts(BackendForm form, const Layout& layer, std::int64_t head_size_k,
                                  std::int64_t head_size_v);

}  // namespace hybridkv
