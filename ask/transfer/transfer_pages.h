#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/plot/page_strip.h"
#include "ask/transfer/transfer.h"

namespace hybridkv {

/// One page of one side that holds a part of the request.
struct TransferPage {
  std::int64_t rank = 0;
  std::int64_t id = 0;           ///< table entry that it is of: a block, or what holds a state
  std::int64_t page_bytes = 0;
  std::vector<std::int64_t> layers;
  PageStrip strip;
};

/// Bytes of two pages that one descriptor copies, counted in each from its front.
struct PageRun {
  ByteExtent from;
  ByteExtent to;
  std::int64_t content = 0;      ///< CopyList::contents that the descriptor begins in
  bool operator==(const PageRun&) const = default;
};

/// Two pages of one kind of layers, and what of them the descriptors between their ranks copy from one to the other.
struct TransferPages {
  SpecRole role = SpecRole::attention;
  std::string kind;
  TransferPage from, to;
  std::vector<PageRun> runs;     ///< by place in the destination
};

/// A picture of a transfer: of each kind of layers the first page of the request at the destination, beside the one at
/// the source that holds the same layer and token, on the first pair of ranks that copy it.
/// Throws InputError where an engine makes no views.
std::vector<TransferPages> transfer_pages(const TransferAnswer& answer);

}  // namespace hybridkv
