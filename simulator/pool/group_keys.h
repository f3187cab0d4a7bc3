#pragma once

#include <cstdint>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Tells the groups of one cache apart: a block holds one group's part of a prefix, under that group's own key.
class GroupKeys {
 public:
  /// `kind` separates attention from recurrent groups.
  GroupKeys(std::int64_t groups, std::uint64_t kind) {
    for (std::int64_t group = 0; group < groups; ++group)
      salts_.push_back(mix64(kind, static_cast<std::uint64_t>(group)));
  }
  PrefixKey operator()(PrefixKey prefix, std::size_t group) const {
    const PrefixKey own = prefix ^ salts_[group];
    return own == 0 ? 1 : own;
  }
  /// The prefix of a group's own key, or some other number where the key is another group's.
  PrefixKey prefix_of(PrefixKey own, std::size_t group) const { return own ^ salts_[group]; }
  std::size_t size() const { return salts_.size(); }

 private:
  std::vector<PrefixKey> salts_;  // (groups)
};

}  // namespace hybridkv
