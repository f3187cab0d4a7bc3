#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transfer/copy_list.h"
#include "transfer/request_tables.h"
#include "transfer/side.h"

namespace hybridkv {

/// What two sides may differ in because somebody said so.
struct TransferOptions {
  bool converts_dtypes = false;   ///< elements are rounded to the destination's type on the way
  bool exchanges_axes = false;    ///< convolution states that lie the other way round are turned, element by element
};

/// A request to move.
struct TransferRequest {
  std::int64_t tokens = 0;          ///< computed at the source, >= 1; the state is the one behind the last of them
  std::int64_t present_tokens = 0;  ///< of these, from the first on, K and V are at the destination already
  RequestTables from;
  RequestTables to;
};

/// The rules by which any request moves between two sides; made once for two deployments, read by many threads.
///
/// K and V go by tokens and heads, a head from the nearest rank that has it; convolution states by the parts of the
/// sections that their channels belong to (StateFamily's sections_of), recurrent states by heads, a replicated part
/// once for each rank that keeps it, from the nearest rank. Of a state the rows that hold inputs move, not those kept
/// for drafts: none is in flight when a prompt is done. Padding never moves.
/// Source: layout algebra of the plans; what NIXL connectors do with it: vLLM PR 37635, 49612.
class TransferMap {
 public:
  /// Throws SpecError, with path "to.KEY" or "from.KEY" for the side and key at fault, where the sides cannot exchange
  /// a request: element types that differ without converts_dtypes; formats with scales that differ; states of other
  /// families or shapes; heads or channels that one side pads; layers that one side lacks; tensor parallel that shares
  /// no heads; convolution states that lie the other way round without exchanges_axes.
  TransferMap(TransferSide from, TransferSide to, const TransferOptions& options = {});
  ~TransferMap();
  TransferMap(TransferMap&&) noexcept;
  TransferMap& operator=(TransferMap&&) noexcept;

  const TransferSide& from() const;
  const TransferSide& to() const;
  const std::vector<Content>& contents() const;  ///< without unique_bytes, which a request gives

  /// The runs of one request, merged. Cost: O(d log d) in the runs of a pair of ranks before merging.
  /// Pre: check_tables accepts both tables; 0 <= present_tokens <= tokens.
  CopyList list(const TransferRequest& request) const;

 private:
  struct Routes;
  std::unique_ptr<const Routes> routes_;
};

}  // namespace hybridkv
