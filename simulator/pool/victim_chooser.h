#pragma once

#include <cstddef>

#include "simulator/pool/block_id.h"

namespace hybridkv {

/// Chooses the block of a pool that goes when every free block can still be found. It knows a block by its arena and
/// id.
class VictimChooser {
 public:
  virtual ~VictimChooser() = default;
  /// A free block that can be found, or the null block: the one that queues for longest.
  virtual BlockId choose(std::size_t arena) = 0;
  /// A block that can be found was given back by its last holder.
  virtual void freed(std::size_t arena, BlockId block) = 0;
  /// A block is about to lose its key.
  virtual void dropped(std::size_t arena, BlockId block) = 0;
  /// The key of a block went over to another one.
  virtual void moved(std::size_t arena, BlockId from, BlockId to) = 0;
};

}  // namespace hybridkv
