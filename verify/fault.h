#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace hybridkv {

/// A way in which a layout goes wrong, planted on purpose to show that its check finds it.
enum class Fault {
  stride_order,         ///< 1 strides taken from the shape (2, blocks, …) instead of (blocks, 2, …)
  padded_split,         ///< 2 kernel blocks step by whole pages: the view leaves the pool
  pack_index,           ///< 3 pack index counted in the wrong list: two layers of a group share one place
  zero_full_page,       ///< 4 zeroing one packed layer wipes a full page from that layer's offset
  narrow_offsets,       ///< 5 element offsets kept in 32 bits
  misaligned_state,     ///< 6 a state tensor that starts off its element size
  padding_reused,       ///< 7 another layer's tensor put into the padding of a state page
  null_block_used,      ///< 8 block 0 handed out to a request
};

/// A fault with its name on the command line and what it does.
struct FaultInfo {
  Fault fault;
  std::string_view name;         ///< "stride-order"
  std::string_view description;  ///< one line
};

/// All faults in the order of the enumeration.
std::span<const FaultInfo> all_faults();
std::string_view to_string(Fault fault);
std::optional<Fault> parse_fault(std::string_view name);

}  // namespace hybridkv
