#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace hybridkv {

/// A way in which a layout, or what an engine does with it, goes wrong; planted on purpose to show that its check
/// finds it.
enum class Fault {
  stride_order,      ///< 1 strides taken from the shape (2, blocks, …) instead of (blocks, 2, …)
  padded_split,      ///< 2 kernel blocks step by whole pages: the view leaves the pool
  pack_index,        ///< 3 pack index counted in the wrong list: two layers of a group share one place
  zero_full_page,    ///< 4 zeroing one packed layer wipes a full page from that layer's offset
  narrow_offsets,    ///< 5 element offsets kept in 32 bits
  misaligned_state,  ///< 6 a state tensor that starts off its element size
  padding_reused,    ///< 7 another layer's tensor put into the padding of a state page
  null_block_used,   ///< 8 block 0 handed out to a request
  odd_stride,        ///< neighbours of a state tensor lie no multiple of its element size apart
  order_exchanged,   ///< tokens and heads change places in the physical order: NHD where HND is due
  pack_reversed,     ///< the layers of a pack placed from the last to the first
  kv_exchanged,      ///< K where V belongs and V where K belongs
  states_exchanged,  ///< the recurrent tensor before the convolution
  lost_state,        ///< the state of one block is never stored
  lost_kv,           ///< K and V of one token are never stored
  stale_block,       ///< attention with the full bias follows a block table with an entry taken away
  scale_exchanged,   ///< attention with the full bias reads K and V with the scales of another token, or of V and K
  lost_merge,        ///< attention in chunks never merges the blocks that several tokens share
  stale_cascade,     ///< the cascade follows a block table with an entry taken away
  stale_paged,       ///< the paged backend follows a block table with an entry taken away
  kv_over_state,     ///< K and V copied to a block id that holds a state
  state_over_kv,     ///< a state copied to a block id that holds K and V
  freed_block,       ///< a copy to a block that nobody holds any more
  copy_full_page,    ///< copying one packed layer copies a full page from that layer's offset
  slot_stride,       ///< slots of the states of all layers step as if they had a layer less
  small_page_shifted,  ///< each small page of a large one taken for the next
  foreign_large_page,  ///< a table entry in a large page that another kind of layer owns
  shared_encoder,    ///< a block of one request's encoder given to another request, which has one of its own
  stale_slot,        ///< attention with the full bias multiplies the slot behind the last token by a weight of 0
  encoder_cut,       ///< the last block of an encoder's tokens missing
};

/// A fault with its name on the command line, what it does, and the check that owns it.
struct FaultInfo {
  Fault fault;
  std::string_view name;         ///< "stride-order"
  std::string_view description;  ///< one line of at most 59 characters
  std::string_view found_by;     ///< name of a Check; others may find it too
  bool in_forward = false;       ///< a forward pass can run with it as well
};

/// All faults in the order of the enumeration.
std::span<const FaultInfo> all_faults();
const FaultInfo& info_of(Fault fault);
std::string_view to_string(Fault fault);
std::optional<Fault> parse_fault(std::string_view name);

}  // namespace hybridkv
