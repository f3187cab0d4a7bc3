#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// When an engine with a radix tree copies what it holds to the host (SGLang --hicache-write-policy).
enum class HostCopies {
  write_through,            ///< a node's K and V and its state as soon as it is in the tree
  write_through_selective,  ///< when it is used a second time
  write_back,               ///< when it is evicted
};

inline constexpr auto host_copies_names = std::to_array<Named<HostCopies>>(
    {{HostCopies::write_through, "write_through"},
     {HostCopies::write_through_selective, "write_through_selective"},
     {HostCopies::write_back, "write_back"}});

constexpr std::string_view to_string(HostCopies value) { return name_in(host_copies_names, value); }

/// The host tier behind a radix tree (SGLang HiCache): slots there for tokens and for states, of one rank.
struct TreeHost {
  std::int64_t tokens = 0;  ///< whole pages; 0: no tier
  std::int64_t states = 0;  ///< 0 without states
  HostCopies copies = HostCopies::write_through;
  bool exists() const { return tokens > 0; }
  bool operator==(const TreeHost&) const = default;
};

}  // namespace hybridkv
