#pragma once

#include <cstdint>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Layers of one spec of one group as the engine places them in its one allocation: layer i of block b begins at
/// offset + i * layer_stride + b * block_stride. Of packs with padding those of one page.
struct AllocatedTensor {
  std::vector<std::int64_t> layers;
  std::int64_t layer_stride = 0;  ///< bytes
  std::int64_t block_stride = 0;  ///< bytes from one id to the next, before kernels split blocks
  std::int64_t offset_bytes = 0;  ///< of the first layer, from the front of the allocation
  std::int64_t size_bytes = 0;    ///< of the allocation
  bool operator==(const AllocatedTensor&) const = default;
};

/// Do all layers of a group lie evenly, one page behind the other? Only packs that leave padding in their pages do not.
bool lie_evenly(const Arrangement& arrangement, const GroupPlan& group);

/// The layers of a group, where they do not lie evenly those of a full page, as one layout: (layer, block, head, token,
/// byte), bytes from the first layer's front, blocks of so many tokens. Pre: arrangement.cache_order is set. Throws as
/// cache_layout.
Layout layers_in_allocation(const Arrangement& arrangement, const GroupPlan& group, std::int64_t kernel_tokens);

/// That of the group, or of its first page. Pre: arrangement.cache_order is set, the group has layers. Source: vLLM
/// 0.33 KVCacheTensor.
AllocatedTensor allocated_tensor(const Arrangement& arrangement, const GroupPlan& group);

/// One for each group that has layers, or for each of its pages. Pre: arrangement.cache_order is set.
std::vector<AllocatedTensor> allocated_tensors(const Arrangement& arrangement);

}  // namespace hybridkv
