#pragma once

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Is told which keys can be found in an arena, as an engine tells a router (vLLM KV events BlockStored, BlockRemoved).
class KeyListener {
 public:
  virtual ~KeyListener() = default;
  /// A block carries the key from now on.
  virtual void stored(PrefixKey key) = 0;
  /// No longer does any block carry it.
  virtual void removed(PrefixKey key) = 0;
};

}  // namespace hybridkv
