#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "attention/backend.h"
#include "verify/attention_batch.h"
#include "verify/check_result.h"

namespace hybridkv {

/// A backend of the table as `verify` runs it, a check of its own each.
struct AttentionWay {
  std::string_view check;  ///< "attention-full", …
  AttentionBackend backend;
  SharedBiasMode shared_bias = SharedBiasMode::full;  ///< of unified
};

/// Every backend but the reference, which they are compared with; unified with either bias.
inline constexpr std::array attention_ways{
    AttentionWay{"attention-full", AttentionBackend::unified, SharedBiasMode::full},
    AttentionWay{"attention-chunked", AttentionBackend::unified, SharedBiasMode::chunked},
    AttentionWay{"attention-cascade", AttentionBackend::cascade},
    AttentionWay{"attention-paged", AttentionBackend::paged},
};

/// Every attention layer through its view and under its mask, by every backend that claims it, against the dense
/// float64 reference: one result per way, in their order. A way that no layer of the plan is claimed for has declined;
/// the message says how many layers were declined and why.
/// `count` = elements of output and log-sum-exp; `max_error` absolute.
std::vector<CheckResult> check_attention(const Traffic& traffic);

}  // namespace hybridkv
