#pragma once

#include <string>
#include <utility>

#include "planner/pool_groups.h"

namespace hybridkv {

/// How memory was shared between blocks and states, as a fact of a plan.
std::pair<std::string, std::string> split_fact(const PoolGroups& groups);

/// The tier on the host behind both, as a fact of a plan. Pre: there is one.
std::pair<std::string, std::string> group_host_fact(const GroupHost& host);

/// Where snapshots of a prompt are taken: "at its end, 32 tokens before it and every 256 tokens".
std::string snapshots_text(const SnapshotPoints& points);

}  // namespace hybridkv
