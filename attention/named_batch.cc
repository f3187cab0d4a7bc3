#include "attention/named_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr std::int64_t large_divisor = 8;

constexpr NamedBatch batches[] = {
    {"small_decode", "q1s32_q1s40"},
    {"small_prefill", "q8s32_q8s40"},
    {"mixed_small", "q1s32_q1s40_q5s48_q5s56"},
    {"medium_decode", "q1s128_q1s256_q1s512_q1s1k_q1s128_q1s256_q1s512_q1s1k"},
    {"medium_prefill", "q16s256_q16s512_q16s1k_q16s2k"},
    {"mixed_medium", "q1s512_q1s1k_q1s2k_q7s512_q7s1k_q7s2k"},
    {"large_decode", "32q1s2k", true},
    {"large_prefill", "8q32s4k", true},
    {"mixed_large", "q1s1k_q1s2k_q1s4k_q32s1k_q32s2k_q32s4k", true},
    {"single_decode", "q1s1k"},
    {"single_prefill", "q64s1k"},
};

}  // namespace

std::span<const NamedBatch> named_batches() { return batches; }

BatchSpec named_batch(std::string_view name, BatchScale scale) {
  for (const NamedBatch& known : batches) {
    if (known.name != name) continue;
    BatchSpec batch = parse_batch_spec(known.spec);
    if (known.is_large && scale == BatchScale::large_reduced)
      for (BatchRun& run : batch.runs)
        run.seq_len_tokens = std::max(run.query_len_tokens, run.seq_len_tokens / large_divisor);
    return batch;
  }
  std::vector<std::string_view> names;
  for (const NamedBatch& known : batches) names.push_back(known.name);
  throw InputError(fmt::format("unknown batch '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace hybridkv
