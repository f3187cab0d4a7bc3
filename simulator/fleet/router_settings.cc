#include "simulator/fleet/router_settings.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace hybridkv {

void check_router(const RouterSettings& router) {
  for (const auto& [value, name] : {std::pair{router.block_tokens.value_or(1), "block_tokens"},
                                    std::pair{router.lru_blocks, "lru_blocks"},
                                    std::pair{router.most_matched_tokens, "most_matched_tokens"},
                                    std::pair{router.session_tokens, "session_tokens"}})
    if (value < 1) throw SpecError(fmt::format("router.{}", name), fmt::format("must be at least 1, is {}", value));
  if (router.busy_requests < 0)
    throw SpecError("router.busy_requests", fmt::format("must be at least 0, is {}", router.busy_requests));
  for (const auto& [value, name] : {std::pair{router.delay_seconds, "delay_seconds"},
                                    std::pair{router.prefix_weight, "prefix_weight"},
                                    std::pair{router.queue_weight, "queue_weight"},
                                    std::pair{router.usage_weight, "usage_weight"},
                                    std::pair{router.busy_ratio, "busy_ratio"},
                                    std::pair{router.least_match, "least_match"}})
    if (!(value >= 0 && value < 1e9))
      throw SpecError(fmt::format("router.{}", name), fmt::format("is a number >= 0, not {}", value));
}

}  // namespace hybridkv
