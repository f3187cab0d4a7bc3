#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "verify/forward/forward_network.h"

namespace hybridkv {

/// What the dense network gives for one sequence, and how far a right engine may be from it.
struct ForwardReference {
  std::vector<double> rows;  ///< (token, width) of `dense_forward`
  /// Largest error allowed, of rows of RMS one: what fp32 arithmetic explains anywhere, or what this sequence makes of
  /// it and of states stored narrower, see DenseRun::may_differ. Measured, so no coarse dtype widens it: K and V in fp8
  /// are rounded alike on both sides.
  double allowed = 0;
};

/// References by sequence, each computed once for all cases and modes of a network: who asks for one that is under way
/// waits for it. Safe to use from several threads.
class ForwardReferences {
 public:
  explicit ForwardReferences(std::shared_ptr<const ForwardNetwork> network) : network_(std::move(network)) {}
  const ForwardNetwork& network() const { return *network_; }
  std::shared_ptr<const ForwardReference> of(const std::vector<std::uint64_t>& contents);

 private:
  struct Known {
    std::once_flag computed;
    std::shared_ptr<const ForwardReference> reference;
  };
  std::shared_ptr<const ForwardNetwork> network_;
  std::mutex mutex_;
  std::map<std::vector<std::uint64_t>, Known> known_;
};

/// References of the networks of several plans: one object for those that compute the same, as the modes of one model
/// do, and its packs where they keep the block.
class NetworkReferences {
 public:
  std::shared_ptr<ForwardReferences> of(ForwardNetwork network);

 private:
  std::vector<std::shared_ptr<ForwardReferences>> known_;
};

}  // namespace hybridkv
