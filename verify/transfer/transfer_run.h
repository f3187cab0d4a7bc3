#pragma once

#include <cstdint>
#include <span>

#include "transfer/copy_list.h"
#include "verify/check_result.h"
#include "verify/transfer/transfer_traffic.h"

namespace hybridkv {

/// Copy::content of bytes that are copied as they are, whatever they hold; in no list of a TransferMap.
inline constexpr std::int32_t raw_bytes = -1;

/// What a look at the descriptors alone shows.
struct DescriptorCheck {
  CheckResult result;   ///< `count` = bytes that they write
  bool is_safe = true;  ///< none leaves its pools
};

/// Does every descriptor lie in its pools, and do those of each destination write as many bytes as a request has there
/// from token `first_token` on?
DescriptorCheck check_descriptors(const CopyList& list, std::span<const TransferRank> from,
                                  std::span<const TransferRank> to, std::int64_t first_token);

/// Runs descriptors between two ranks on all cores, those that convert element by element.
/// Pre: they lie in the pools and write no byte twice.
void run_copies(const RankMemory& from, const RankMemory& to, std::span<const Copy> copies,
                std::span<const Content> contents);

}  // namespace hybridkv
