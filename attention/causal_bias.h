#pragma once

#include <vector>

#include "attention/memory_report.h"
#include "attention/metadata.h"

namespace hybridkv {

/// Whether new tokens attend to new tokens at all: false when every request with query tokens is a decode, which
/// reads its tokens from the cache.
bool has_causal_part(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode);

/// Bias (query token, key token) of the new tokens of a batch: 0 where they belong to one request and the key is no
/// later, -inf elsewhere, before the window or chunk of the query, and in the rows and columns of decodes. Without
/// `causal` a token sees the later ones too.
/// Enters it into `memory` as "causal_bias". Source: vllm-gaudi PR 784.
template <class Real>
std::vector<Real> causal_bias(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                              MemoryReport& memory, const KeyMask& mask = {});

extern template std::vector<float> causal_bias(const CommonAttentionMetadata&, const std::vector<bool>&, MemoryReport&,
                                        const KeyMask&);
extern template std::vector<double> causal_bias(const CommonAttentionMetadata&, const std::vector<bool>&,
                                                MemoryReport&, const KeyMask&);

}  // namespace hybridkv
