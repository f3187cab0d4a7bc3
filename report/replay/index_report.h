#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ask/replay/simulate.h"
#include "report/document.h"
#include "report/table.h"

namespace hybridkv {

/// What a report of `simulate` says that depends on how the caches find prefixes.
struct IndexReport {
  std::string rules;                                       ///< whose rules these are
  std::vector<std::pair<std::string, std::string>> facts;  ///< how requests come, and what all caches follow
  Table hits;                                              ///< what is found again, a row a cache
  std::vector<std::vector<std::string>> warnings;          ///< (cache) sentences
  Table requests;                                          ///< a row a request of a short trace
  std::vector<Block> held;                                 ///< what the caches hold, and what becomes of requests
  std::string footer;                                      ///< what no replay of a real engine covers; empty: none
};

/// How the caches of one index are reported. Pre of all: the caches are of that index, and there is one.
struct IndexReporter {
  IndexReport (*report)(const SimulateAnswer& answer);
  Table (*table)(const SimulateAnswer& answer);                        ///< a row a cache with every counter
  nlohmann::ordered_json (*extras)(const ReplayedCache& cache);        ///< of its JSON, beside that row
  nlohmann::ordered_json (*requests)(const ReplayedCache& cache);      ///< of a short trace, a list
};
extern const IndexReporter blocks_reporter;  ///< pools of blocks: report/replay/simulate_blocks.cc
extern const IndexReporter tree_reporter;    ///< a dual pool with a radix tree: report/replay/simulate_tree.cc
extern const IndexReporter slots_reporter;   ///< slots of a server: report/replay/simulate_slots.cc
extern const IndexReporter snapshots_reporter;  ///< a tree with snapshots: report/replay/simulate_snapshots.cc

/// The reporter of the answer's caches.
const IndexReporter& reporter_of(const SimulateAnswer& answer);

/// Sentences about requests that a cache does not take or serve; `too_small`: what the latter do not fit.
std::vector<std::string> unserved_warnings(const ReplayedCache& cache, const std::string& too_small);

}  // namespace hybridkv
