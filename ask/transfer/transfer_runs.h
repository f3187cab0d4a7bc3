#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/transfer/transfer_counts.h"
#include "transfer/transfer_map.h"

namespace hybridkv {

/// How K and V of a layer fall into runs: cut by blocks, then each stretch by what does not lie together.
struct TokenRuns {
  std::int64_t tokens = 0;              ///< that move
  std::int64_t from_block_tokens = 0, to_block_tokens = 0;
  std::int64_t from_kernel_tokens = 0, to_kernel_tokens = 0;
  std::int64_t from_blocks = 0, to_blocks = 0;  ///< of the request that hold some of them
  std::int64_t stretches = 0;           ///< of tokens that lie in one row of slots on both sides
  std::int64_t heads = 0;               ///< that this rank reads
  std::int64_t from_heads = 0, to_heads = 0;    ///< of a rank
  bool has_halves = true;               ///< K and V are two things; a latent is one
  bool tokens_follow = false;           ///< the tokens of a stretch follow each other on both sides in one run
  std::int64_t runs_per_token = 0;      ///< where they do not
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches_by_runs;  ///< where they do: so many runs each, how many
};

/// A part of a convolution's channels, or the heads of a recurrent state, that one rank reads from another.
struct MovedParts {
  std::string name;                     ///< of the section, "q", or of the axis that ranks share: "head"
  std::int64_t parts = 0;               ///< heads, groups or channels
  std::int64_t elements = 0;            ///< of a part, on the axis that ranks share
};

/// How a state falls into runs.
struct StateRuns {
  std::int64_t steps = 0;               ///< rows of a convolution that hold inputs; 0 for other tensors
  std::vector<MovedParts> parts;
};

/// How the runs of one tensor of one layer from one rank to another come about: of each tensor the first layer and the
/// first pair of ranks that copy something.
struct RunDerivation {
  std::size_t tensor = 0;               ///< position in TransferCounts::tensors
  std::int64_t layer = 0;
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::optional<TokenRuns> tokens;      ///< of K and V
  std::optional<StateRuns> state;       ///< of anything else
  std::int64_t runs = 0;                ///< of the layer, before neighbours are joined
  std::int64_t layers = 0;              ///< of the tensor that this pair copies
  std::int64_t runs_of_layers = 0;      ///< of all of them, before neighbours are joined
  std::int64_t descriptors = 0;         ///< the same as the list has them
};

/// Pre: the list is that of the map, made with these options, and of the request.
std::vector<RunDerivation> derive_runs(const TransferMap& map, const TransferOptions& options,
                                       const TransferRequest& request, const CopyList& list,
                                       const TransferCounts& counts);

}  // namespace hybridkv
