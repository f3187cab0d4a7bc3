#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// By what a router chooses the replica of a request.
enum class RouterKind {
  round_robin,     ///< one after the other
  random,          ///< any
  least_requests,  ///< the one with the fewest requests in flight
  least_tokens,    ///< the one with the fewest prompt tokens still to be computed
  session,         ///< the same for all requests of a session, by its hash
  sticky,          ///< the one that had the session before, until that is too busy beside the others
  approximate,     ///< by scores; matches are what the router itself has sent there (llm-d, approximate prefix)
  gateway,         ///< where most was sent of the prompt, unless that is too busy (SGLang's gateway, cache_aware)
  precise,         ///< by scores; matches are blocks of attention that the engine has told of (KV events)
  sparse,          ///< the same, but events of all groups are read as prefixes, those of states and windows too
  states,          ///< by scores; matches end at the deepest state within what attention matches
};
inline constexpr auto router_kind_names =
    std::to_array<Named<RouterKind>>({{RouterKind::round_robin, "round-robin"},
                                      {RouterKind::random, "random"},
                                      {RouterKind::least_requests, "least-requests"},
                                      {RouterKind::least_tokens, "least-tokens"},
                                      {RouterKind::session, "session"},
                                      {RouterKind::sticky, "sticky"},
                                      {RouterKind::approximate, "approximate"},
                                      {RouterKind::gateway, "gateway"},
                                      {RouterKind::precise, "precise"},
                                      {RouterKind::sparse, "sparse"},
                                      {RouterKind::states, "states"}});

constexpr std::string_view to_string(RouterKind value) { return name_in(router_kind_names, value); }
constexpr std::optional<RouterKind> parse_router_kind(std::string_view name) {
  return value_in(router_kind_names, name);
}

/// Does it hear of what the engines' caches hold?
constexpr bool hears_events(RouterKind kind) {
  return kind == RouterKind::precise || kind == RouterKind::sparse || kind == RouterKind::states;
}

/// A router and its numbers. Defaults are those of the routers named, as of September 2026.
struct RouterSettings {
  RouterKind kind = RouterKind::round_robin;
  std::uint64_t seed = 1;                    ///< of random choices
  /// Tokens of the blocks in which a router counts matches of its own account; unset: as llm-d tunes it, what the
  /// engine matches by, at least 64. Of events: what a router takes events to be of; events of other blocks are
  /// dropped. Unset: what the engine says.
  std::optional<std::int64_t> block_tokens;
  std::int64_t lru_blocks = 31250;           ///< that a router remembers of each replica (llm-d lruCapacityPerServer)
  std::int64_t most_matched_tokens = 131072; ///< of a prompt that a router of its own account looks at (llm-d
                                             ///< maxPrefixTokensToMatch)
  double delay_seconds = 0;                  ///< until an event is heard, >= 0
  double prefix_weight = 3;                  ///< of the scores: share of the prompt that is matched (llm-d's guides)
  double queue_weight = 2;                   ///< requests in flight, from the most (0) to the fewest (1)
  double usage_weight = 2;                   ///< share of the memory that no request holds
  std::int64_t busy_requests = 64;           ///< too busy: so many requests more than the least busy replica, and
  double busy_ratio = 1.5;                   ///< so many times as many (SGLang's gateway, balance thresholds)
  double least_match = 0.3;                  ///< gateway: a smaller share of the prompt is no match (cache_threshold)
  std::int64_t session_tokens = 1024;        ///< prompts that begin with the same are one session, where none is named
  bool operator==(const RouterSettings&) const = default;
};

/// Throws SpecError, path "router.FIELD".
void check_router(const RouterSettings& router);

}  // namespace hybridkv
