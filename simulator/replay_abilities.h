#pragma once

#include <string_view>

namespace hybridkv {

/// What the replays of an engine can do beyond running a trace by the engine's own rules.
struct ReplayAbilities {
  std::string_view index;     ///< what finds prefixes again: "a radix tree"
  bool host_memory = false;   ///< memory of the host behind the pools
  bool policies = false;      ///< other policies of eviction than its own
  bool chosen_places = false; ///< states at places that are chosen: moved back, or so far apart
  std::string_view host_keys = {};  ///< what says in place of its size what the host keeps
};

inline constexpr ReplayAbilities abilities_of_blocks{"pools of blocks", true, true, true};
inline constexpr ReplayAbilities abilities_of_trees{.index = "a radix tree"};
inline constexpr ReplayAbilities abilities_of_snapshots{.index = "a tree with snapshots",
                                                        .host_keys = "engine.host_cache_size says what its host keeps"};
inline constexpr ReplayAbilities abilities_of_slots{.index = "a server with slots",
                                                    .host_keys = "engine.ctx_checkpoints and engine.cache_ram say what "
                                                                 "its host keeps"};

}  // namespace hybridkv
