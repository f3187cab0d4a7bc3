#pragma once

#include "planner/arrangement.h"
#include "planner/strategies.h"

namespace hybridkv {

/// Adds the arena of a kind of ids, without any yet. `name`: "tokens" or "states"; where it is not the only one of its
/// name that of its spec stands behind it.
ArenaId add_arena(Arrangement& arrangement, std::string name, std::int64_t bytes_per_id);

/// The arena of one spec, and its only group; lane j of it has page j and no bytes of a pool yet.
void add_own_arena(Arrangement& arrangement, const SpecPlan& spec, bool only_one, std::int64_t page_bytes);

/// Is the spec the only one of states, or of tokens?
bool is_only_one(const Arrangement& arrangement, const SpecPlan& spec);

/// Gives every arena its ids: as many of each as the user says; or states those of engine.state_requests requests, or
/// ratio / (1 + ratio) of the memory, and tokens the rest, shared so that a longest request needs the same part of
/// each.
/// Pre: arenas, groups and extras are there. `rule`: what the decisions follow.
/// Throws SpecError("engine.state_requests") for more slots than memory, SpecError("engine.num_blocks") where the ids
/// leave 64 bits.
void split_memory(Arrangement& arrangement, const ArrangeInputs& inputs, RuleOf rule);

}  // namespace hybridkv
