#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/transfer/transfer_counts.h"
#include "ask/transfer/transfer_runs.h"
#include "planner/evidence.h"
#include "scenarios/scenario.h"
#include "transfer/transfer_map.h"

namespace hybridkv {

inline constexpr auto id_order_names = std::to_array<Named<IdOrder>>(
    {{IdOrder::scattered, "scattered"},
     {IdOrder::consecutive, "consecutive"}});

constexpr std::string_view to_string(IdOrder value) { return name_in(id_order_names, value); }
constexpr std::optional<IdOrder> parse_id_order(std::string_view name) { return value_in(id_order_names, name); }

/// The ids by which a side holds the request, where somebody says them.
struct GivenIds {
  RequestTables tables;
  std::string where;                   ///< begins messages about them: "--from-ids ids.json"
};

/// One request, from one deployment to another.
struct TransferQuestion {
  Scenario from;                       ///< its first pack size is planned
  Scenario to;                         ///< likewise; of the same model
  std::optional<std::int64_t> tokens;  ///< default: the longest max_model_len of `from`
  std::int64_t present_tokens = 0;     ///< TransferRequest::present_tokens
  IdOrder ids = IdOrder::scattered;    ///< of sides whose ids nobody says; `from.verify.seed` scatters them
  std::optional<GivenIds> from_ids;
  std::optional<GivenIds> to_ids;
  TransferOptions options;
  bool as_prefix = false;              ///< the destination keeps it for requests to come, see check_kept_prefix
};

/// One side in a line.
struct TransferSideFacts {
  std::string scenario;                ///< Scenario::name
  EngineSpec engine;                   ///< of the pack size that is planned
  std::int64_t stages = 1;
  std::int64_t tensor_parallel = 1;
  std::int64_t block_tokens = 0;       ///< of its primary attention
  std::string order;                   ///< of a page, "nhd", or of one allocation, "LBNHC"
  std::vector<std::pair<std::string, std::string>> dtypes;  ///< of "kv", "conv", "ssm"; formats by their name
  std::vector<std::string> ids;        ///< (stage) ids of the request: "24 blocks"
  std::int64_t uncounted_bytes = 0;    ///< beside each block, as the keys of indexers: in no tensor, so not counted
  Evidence evidence = Evidence::run;   ///< of the arrangement
};

/// What a request of another length takes, with ids made in the same way.
struct TransferGrowth {
  std::int64_t tokens = 0;
  std::int64_t unique_bytes = 0;
  RunSizes runs;
  RunSizes of_states;                  ///< of these, once for the request; a ring counts as a state
};

/// What tokens add between half of the length and all of it.
struct TransferRate {
  double descriptors = 0;              ///< of 1,000 tokens
  double bytes = 0;                    ///< likewise, read at the sources
};
inline constexpr std::int64_t tokens_of_rate = 1000;

/// Everything that moves a request, and what it amounts to.
struct TransferAnswer {
  std::string model;
  std::shared_ptr<const TransferMap> map;
  TransferRequest request;
  TransferOptions options;
  bool as_prefix = false;
  TransferSideFacts from, to;
  CopyList list;
  TransferCounts counts;
  std::vector<RunDerivation> runs;     ///< how their number comes about, of one layer of each tensor
  std::vector<TransferGrowth> growth;  ///< at a quarter, half, all and twice of the length, ascending
  std::string growth_ends;             ///< why it is not told for twice the length; empty: it is
  std::optional<TransferRate> rate;    ///< nothing where half of the length moves no tokens
  bool ids_are_given = false;          ///< of at least one side; growth is that of made ones all the same
};

/// Lists what moves the request and counts it.
/// Throws InputError with the place of the value at fault, whose path begins with "from." or "to.": sides of two
/// models, what cannot be planned, sides that cannot exchange a request (see TransferMap), lengths beyond
/// max_model_len, ids that do not suffice or do not fit.
TransferAnswer transfer(const TransferQuestion& question);

}  // namespace hybridkv
