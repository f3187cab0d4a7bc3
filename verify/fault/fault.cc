#include "verify/fault/fault.h"

#include <algorithm>
#include <array>

namespace hybridkv {

namespace {

constexpr std::array faults{
    FaultInfo{Fault::stride_order, "stride-order", "strides taken from (2, blocks, ...), not (blocks, 2, ...)",
              "address-audit-enumerated", true},
    FaultInfo{Fault::padded_split, "padded-split", "kernel blocks step by pages, so a view leaves the pool",
              "address-audit-intervals", true},
    FaultInfo{Fault::pack_index, "pack-index", "a layer placed by a wrong index, on top of another one",
              "address-audit-intervals", true},
    FaultInfo{Fault::zero_full_page, "zero-full-page", "zeroing one packed layer wipes a page from its offset",
              "zero-one-block", true},
    FaultInfo{Fault::narrow_offsets, "narrow-offsets", "element offsets kept in 32 bits", "address-audit-sampled",
              true},
    FaultInfo{Fault::misaligned_state, "misaligned-state", "a state tensor that starts one byte off its element size",
              "alignment", true},
    FaultInfo{Fault::padding_reused, "padding-reused", "another layer's tensor in the padding of a state page",
              "padding-untouched", true},
    FaultInfo{Fault::null_block_used, "null-block", "the null block handed out to a request", "block-tables", true},
    FaultInfo{Fault::odd_stride, "odd-stride", "rows of a state one byte more apart than their elements", "alignment"},
    FaultInfo{Fault::order_exchanged, "order-exchanged", "tokens before heads where heads come first, or back",
              "physical-order", true},
    FaultInfo{Fault::pack_reversed, "pack-reversed", "the layers of a pack placed from the last to the first",
              "physical-order", true},
    FaultInfo{Fault::kv_exchanged, "kv-exchanged", "K where V belongs and V where K belongs", "physical-order", true},
    FaultInfo{Fault::states_exchanged, "states-exchanged", "the recurrent state before the convolution in a page",
              "physical-order", true},
    FaultInfo{Fault::lost_state, "lost-state", "the state of one block never stored", "states-written"},
    FaultInfo{Fault::lost_kv, "lost-kv", "K and V of one token never stored", "kv-written"},
    FaultInfo{Fault::stale_block, "stale-block", "an entry of a block table taken away under the full bias",
              "attention-full"},
    FaultInfo{Fault::stale_slot, "stale-slot", "the slot behind the last token read with a weight of 0",
              "attention-full"},
    FaultInfo{Fault::scale_exchanged, "scale-exchanged", "K and V read with the scales of another token or tensor",
              "attention-full"},
    FaultInfo{Fault::lost_merge, "lost-merge", "the shared blocks never merged by attention in chunks",
              "attention-chunked"},
    FaultInfo{Fault::stale_cascade, "stale-cascade", "an entry of a block table taken away under the cascade",
              "attention-cascade"},
    FaultInfo{Fault::stale_paged, "stale-paged", "an entry of a block table taken away under paged attention",
              "attention-paged"},
    FaultInfo{Fault::kv_over_state, "kv-over-state", "K and V copied to a block id that holds a state",
              "states-after-attention"},
    FaultInfo{Fault::state_over_kv, "state-over-kv", "a state copied to a block id that holds K and V",
              "kv-after-states"},
    FaultInfo{Fault::freed_block, "freed-block", "a copy to a block that nobody holds",
              "null-and-guard-blocks-untouched"},
    FaultInfo{Fault::copy_full_page, "copy-full-page", "copying one packed layer copies a page from its offset",
              "copy-one-block"},
    FaultInfo{Fault::slot_stride, "slot-stride", "slots of all layers' states step as if one were missing",
              "address-audit-intervals"},
    FaultInfo{Fault::small_page_shifted, "small-page-shifted", "each small page of a large page taken for the next",
              "address-audit-intervals"},
    FaultInfo{Fault::foreign_large_page, "foreign-large-page", "a table entry in a large page of another kind",
              "block-tables", true},
    FaultInfo{Fault::shared_encoder, "shared-encoder", "a block of an encoder's tokens given to two requests",
              "block-tables"},
    FaultInfo{Fault::encoder_cut, "encoder-cut", "the last block of an encoder's tokens missing", "block-tables"},
};

}  // namespace

std::span<const FaultInfo> all_faults() { return faults; }

const FaultInfo& info_of(Fault fault) {
  return *std::find_if(faults.begin(), faults.end(), [&](const FaultInfo& info) { return info.fault == fault; });
}

std::string_view to_string(Fault fault) { return info_of(fault).name; }

std::optional<Fault> parse_fault(std::string_view name) {
  for (const FaultInfo& info : faults)
    if (info.name == name) return info.fault;
  return std::nullopt;
}

}  // namespace hybridkv
