#include "verify/fault.h"

#include <array>

namespace hybridkv {

namespace {

constexpr std::array<FaultInfo, 8> faults{{
    {Fault::stride_order, "stride-order", "strides of one layer taken from (2, blocks, ...) instead of (blocks, 2, ...)"},
    {Fault::padded_split, "padded-split", "kernel blocks of one layer step by whole pages, so its view leaves the pool"},
    {Fault::pack_index, "pack-index", "a layer placed by its index in the wrong list, on top of another one"},
    {Fault::zero_full_page, "zero-full-page", "zeroing one block of a packed layer wipes a page from the layer's offset"},
    {Fault::narrow_offsets, "narrow-offsets", "element offsets kept in 32 bits"},
    {Fault::misaligned_state, "misaligned-state", "a state tensor that starts one byte off its element size"},
    {Fault::padding_reused, "padding-reused", "another layer's tensor put into the padding of a state page"},
    {Fault::null_block_used, "null-block", "the null block handed out to a request"},
}};

}  // namespace

std::span<const FaultInfo> all_faults() { return faults; }

std::string_view to_string(Fault fault) {
  for (const FaultInfo& info : faults)
    if (info.fault == fault) return info.name;
  return "?";
}

std::optional<Fault> parse_fault(std::string_view name) {
  for (const FaultInfo& info : faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
