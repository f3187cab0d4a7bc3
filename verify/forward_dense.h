#pragma once

#include <vector>

#include "verify/forward_network.h"

namespace hybridkv {

/// What a dense run makes of the places where a right engine may come out otherwise.
enum class DenseRounding {
  plain,   ///< cached values are rounded to the dtype they are cached in, states stay float64
  shaken,  ///< all that is in doubt goes the other way, see DenseRun::in_doubt
  half_shaken,  ///< every second time, states too: another draw of what roundings can do
};

/// The network run dense over one sequence.
struct DenseRun {
  std::vector<double> rows;  ///< (token, width), each row of RMS one
  /// A right engine may differ by more than its fp32 arithmetic: a value to be cached lies so close to the middle
  /// between two values of its dtype that fp32 may round it the other way, or a state is stored narrower than fp32.
  /// Shaken, such values are rounded the other way, and states to their dtype after every token, the most often that an
  /// engine can.
  bool in_doubt = false;
};

/// The network run dense and unpaged in float64 over one sequence, token contents given by position: no blocks, no
/// chunks, no cache, every state from the first token on. What every paged run of the network is compared with.
DenseRun dense_forward(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents,
                       DenseRounding rounding = DenseRounding::plain);

}  // namespace hybridkv
