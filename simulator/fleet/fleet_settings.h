#pragma once

#include <cstdint>
#include <limits>

namespace hybridkv {

/// Many more than anybody runs behind one router; each takes memory.
inline constexpr std::int64_t most_replicas = 1024;

/// Of a GPU's network where nobody says another: 400 Gb/s, of the ConnectX-7 that DGX H100, H200 and B200 have for each
/// GPU (their datasheets).
inline constexpr double usual_network_bytes_per_second = 50e9;

/// A replica that fails: what it has in flight is sent to others, and what it had cached is lost.
struct Outage {
  std::int64_t replica = 0;
  double from = 0;                                           ///< seconds
  double until = std::numeric_limits<double>::infinity();    ///< when it is back, with nothing cached
  bool operator==(const Outage&) const = default;
};

/// Replicas that generate behind prompts which others computed, and the link over which they get caches of these.
struct DecodeSpec {
  std::int64_t replicas = 0;  ///< 0: whoever computes a prompt generates behind it
  double link_bytes_per_second = usual_network_bytes_per_second;  ///< of each rank, to the same rank of the other side,
                                                                  ///< > 0
  bool operator==(const DecodeSpec&) const = default;
};

}  // namespace hybridkv
