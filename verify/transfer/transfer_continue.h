#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attention/backend_features.h"
#include "verify/transfer/transfer_traffic.h"

namespace hybridkv {

/// How layers go on behind the tokens of a request: what they are given follows from the seed and their place in the
/// model alone, so that every rank of either side computes its part of the same.
struct Continuation {
  std::uint64_t seed = 1;
  std::int64_t request_tokens = 0;
  std::int64_t new_tokens = 0;      ///< in recurrent layers; attention decodes one
  std::set<ModelTensor> layers;     ///< those that go on: K and V, and of states each tensor
  const ElementTypes* from_types = nullptr;  ///< of the source: in which new K and V are computed
  const ElementTypes* to_types = nullptr;    ///< of the destination: a source goes on from states rounded so
};

/// An entry of a table that a planted fault takes for another: of attention a block, of states the entry.
struct StaleEntry {
  std::int64_t rank = 0;            ///< of the destination
  ModelTensor tensor;
  std::int64_t position = 0;        ///< in its table
  std::vector<std::int64_t> ids;    ///< taken instead
};

/// What a layer gave on one rank.
struct LayerOutputs {
  ModelTensor layer;
  PartedRow row;                      ///< of the whole layer's output
  std::vector<std::int64_t> columns;  ///< of it, in the rank's order
  std::vector<float> values;          ///< (token, column)
  bool is_exact = true;               ///< the same values give the same bits, however blocks and ranks differ
  double rounding_error = 0;          ///< of a source: what rounding its state for the destination changed
};

/// What all layers gave on one rank, and why others did not go on.
struct RankOutputs {
  std::vector<LayerOutputs> states, attention;
  std::int64_t without_room = 0;  ///< attention layers that has_room is false for
  std::string declined;           ///< why a backend does not claim a layer, which then another computes, or none
  std::set<AttentionBackend> backends;  ///< that computed attention
};

/// Can a backend compute attention over what a rank keeps of a layer?
bool can_decode(const RankTokens& tokens);
/// Is there a slot for one more token, in the request's last block or in a free one?
bool has_room(const TransferRank& rank, const HeldPages& pages, const RankTokens& tokens,
              std::int64_t request_tokens);

/// Which of the free ids of its arena the table of each group takes for one more token; -1 where its blocks have room,
/// and for groups of states.
std::vector<std::int64_t> next_free_ids(const CachePlan& plan, std::int64_t request_tokens);

/// Goes on with the layers on one rank: recurrent ones with run_chunk from the state in the pages, which stays as it
/// is; attention through the paged backend, where it does not claim a format through another, over the pages, into
/// which K and V of the new token are written and taken out again. Source states that are moved into another type go on
/// from what the move rounds them to.
RankOutputs continue_rank(const RankMemory& memory, const Continuation& continuation,
                          const std::optional<StaleEntry>& stale = std::nullopt);

}  // namespace hybridkv
