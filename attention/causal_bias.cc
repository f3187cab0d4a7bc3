#include "attention/causal_bias.h"

#include <algorithm>

#include "attention/output.h"

namespace hybridkv {

bool has_causal_part(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode) {
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request)
    if (!is_decode[request] && metadata.query_len(request) > 0) return true;
  return false;
}

template <class Real>
std::vector<Real> causal_bias(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                              MemoryReport& memory, const KeyMask& mask) {
  const std::int64_t tokens = metadata.num_actual_tokens;
  std::vector<Real> bias =
      memory.allocate_bias<Real>("causal_bias", {tokens, tokens}, minus_infinity<Real>);
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    if (is_decode[request]) continue;
    const std::int64_t start = metadata.query_start_loc[request], length = metadata.query_len(request);
    // Where there are more queries than keys the first ones have no key of their own.
    const std::int64_t own_key = std::clamp<std::int64_t>(-metadata.position(request, 0), 0, length);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t window = mask.first_visible(metadata.position(request, i)) - metadata.position(request, 0);
      const std::int64_t first_key = std::max(own_key, window);
      const std::int64_t last_key = metadata.causal ? i : length - 1;
      const auto row = bias.begin() + (start + i) * tokens + start;
      if (first_key <= last_key) std::fill(row + first_key, row + last_key + 1, Real{0});
    }
  }
  return bias;
}

template std::vector<float> causal_bias(const CommonAttentionMetadata&, const std::vector<bool>&, MemoryReport&,
                                        const KeyMask&);
template std::vector<double> causal_bias(const CommonAttentionMetadata&, const std::vector<bool>&, MemoryReport&,
                                         const KeyMask&);

}  // namespace hybridkv
