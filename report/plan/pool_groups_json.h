#pragma once

#include "planner/pool_groups.h"
#include "report/json_archive.h"

namespace hybridkv {

template <class Archive, Is<GroupHost> T>
void fields(Archive& archive, T& host) {
  archive.named("group_host", "Pools of the host's memory behind both groups; their sizes are read, not run.");
  archive("bytes", host.bytes, "Of a rank, shared between them.");
  archive("borrowed_bytes", host.borrowed_bytes, "Beyond what was asked for.");
  archive("blocks", host.blocks, "Pages of K and V that are evicted move to these.");
  archive("states", host.states, "The same of states.");
}

template <class Archive, Is<PoolGroups> T>
void fields(Archive& archive, T& groups) {
  archive.named("pool_groups", "How memory was shared between blocks and states; of strategy pool_groups alone.");
  archive("grain_bytes", groups.grain_bytes, {"Pools are whole grains.", 1});
  archive("typical_tokens", groups.typical_tokens, {"Length of the requests that shares are made for.", 1});
  archive("typical_blocks", groups.typical_blocks, "Of such a request.");
  archive("typical_snapshots", groups.typical_states, {"Of such a request, the running state among them.", 1});
  archive("interval_tokens", groups.points.interval_tokens, "Between snapshots; 0: there are none.");
  archive("max_requests", groups.max_requests, "B, at once.");
  archive("dummy_requests", groups.dummy_requests, "D, that pad graphs: each has a state.");
  archive("grains", groups.grains, "Of the memory, the last one whole too; 0: ids are not by grains.");
  archive("borrowed_bytes", groups.borrowed_bytes, "That the pools may take beyond the memory.");
  archive("least_bytes", groups.least_bytes, "With which the engine starts.");
  archive("estimate_bytes", groups.estimate_bytes, "That the engine reckons with before any token.");
  archive("estimate_token_bytes", groups.estimate_token_bytes, "And for each.");
  archive.unless("first_manager", groups.first_manager, false, "Sized by the engine's first manager; default false.");
  archive.unless_default("snapshots_from_start", groups.points.from_start, "Offsets after the start of a prompt.");
  archive.unless_default("snapshots_from_end", groups.points.from_end, "Offsets before its end.");
  archive.unless("snapshots_at_branches", groups.points.at_branches, false, "Where prompts part; default false.");
  archive.unless("evicts_states_alone", groups.evicts_alone, true, "Without the K and V of a leaf; default true.");
  archive.unless("partial_reuse", groups.partial_reuse, true, "Parts of blocks are found again; default true.");
  archive.unless_default("host", groups.host);
}

}  // namespace hybridkv
