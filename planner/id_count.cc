#include "planner/id_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace hybridkv {

void require_addressable(std::int64_t ids, std::int64_t bytes_per_id, const char* what) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / bytes_per_id;
  if (ids > most)
    throw SpecError("engine.num_blocks", fmt::format("{} {} of {} bytes are too large for 64 bits; at most {}", ids,
                                                     what, bytes_per_id, most));
}

void derive_usable_blocks(std::int64_t num_blocks, RuleOf rule, const DerivationLog& log) {
  log.add([&] {
    return Decision{{"usable blocks", std::max<std::int64_t>(0, num_blocks - 1), "blocks"},
                    "usable = num_blocks - 1: block 0 is the null block",
                    {{"num_blocks", num_blocks, "blocks"}},
                    log.cite(rule)};
  });
}

}  // namespace hybridkv
