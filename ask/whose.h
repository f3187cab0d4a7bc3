#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/cache_plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What one byte of a block id is to one group, where the id is in a table of it.
struct ByteOwner {
  std::int64_t group = 0;            ///< position in CachePlan::groups
  std::string kind;                  ///< SpecPlan::kind
  bool draft = false;
  std::optional<std::int64_t> layer; ///< nothing: the byte is of no layer of the group
  std::string tensor;                ///< "K", "V", "latent", "entry" of an indexer, "conv", "ssm", …; "padding"
  /// Where in it: (token, head, channel) of a block, the axes of a state, elements or, where these are packed, bytes.
  std::vector<std::pair<std::string, std::int64_t>> index;
  std::int64_t byte = 0;             ///< of that element, from 0
  std::int64_t element_bytes = 1;
  bool operator==(const ByteOwner&) const = default;
};

/// Whose a byte of a cache is.
struct WhoseAnswer {
  std::int64_t pool = 0;
  std::int64_t offset = 0;           ///< from the front of the pool
  std::int64_t pools = 1;            ///< how many there are
  std::int64_t pool_bytes = 0;
  std::string arena;                 ///< whose ids they are: "blocks", "tokens", "states"; empty: behind the last id
  std::int64_t id = 0;               ///< in whose piece the byte lies
  std::int64_t byte_of_piece = 0;    ///< from the front of that piece
  bool is_null = false;              ///< the id is the null id, which no request gets
  /// One for each group of layers that the id may be of; it is of one at a time, and of several groups only where they
  /// share a table.
  std::vector<ByteOwner> owners;
};

/// Whose a byte of a pool of the plan is. Throws InputError for a pool or a byte that there is not, and where the
/// engine makes no views.
WhoseAnswer whose_byte(const CachePlan& plan, std::int64_t pool, std::int64_t offset);

/// Of the first plan of a scenario.
WhoseAnswer whose_byte(const Scenario& scenario, std::int64_t pool, std::int64_t offset);

}  // namespace hybridkv
