#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "transfer/copy_box.h"
#include "transfer/held_tensor.h"
#include "transfer/transfer_map.h"

namespace hybridkv {

/// Table of a group of one side, and how many bytes lie between the pieces of its ids.
struct IdStep {
  std::int64_t stage = 0;
  std::int64_t table = 0;
  std::int64_t position = 0;  ///< of the id in the table: the piece of a state
  std::int64_t bytes = 0;     ///< from one id to the next
  bool operator==(const IdStep&) const = default;
};

/// A run of a state, but for the ids that hold it: `from` and `to` are those of id 0.
struct StateRoute {
  Copy copy;
  std::size_t from_step = 0;  ///< TransferRoutes::from_steps
  std::size_t to_step = 0;
};

/// How tokens lie on one side: where the blocks of a table are, and what lies between tokens.
struct TokenTable {
  std::int64_t stage = 0;
  std::int64_t table = 0;
  const SpecPlan* spec = nullptr;
  bool is_row = false;  ///< tokens of neighbouring kernel blocks follow each other as those of one do
  std::int64_t block_tokens() const { return spec->block_size_tokens; }
  std::int64_t kernel_tokens() const { return spec->kernel_block_size_tokens; }
  bool operator==(const TokenTable&) const = default;
};

/// Two tables whose blocks cut a request's tokens together.
struct TokenTables {
  TokenTable from;
  TokenTable to;
  bool operator==(const TokenTables&) const = default;
};

/// Where the tokens of a tensor lie in its pool.
struct TokenPlace {
  std::int64_t base = 0;          ///< byte of token 0 of kernel block 0
  std::int64_t block_stride = 0;  ///< from one kernel block to the next
  std::int64_t token_stride = 0;
};

/// Heads of K and V that one rank reads from another, for whatever tokens.
struct TokenRoute {
  std::int32_t content = 0;
  std::int32_t from_pool = 0;
  std::int32_t to_pool = 0;
  std::size_t tables = 0;          ///< TransferRoutes::tables
  TokenPlace from;
  TokenPlace to;
  std::array<BoxAxis, 3> axes{};   ///< K and V, head, channel; those that do not step have extent 1
  BoxRun element;
};

/// Are they walked through together? Routes of a pair that are lie side by side.
inline bool share_walk(const TokenRoute& a, const TokenRoute& b) {
  return a.to_pool == b.to_pool && a.tables == b.tables;
}

/// What one rank reads from another; routes of tokens by pool of the destination, tables and place.
struct PairRoutes {
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::vector<StateRoute> states;
  std::vector<TokenRoute> tokens;
};

/// Everything of two sides that no request changes.
struct TransferRoutes {
  std::vector<Content> contents;
  std::vector<std::int64_t> content_tables;     ///< (content) index into `tables`; -1 for a state
  std::vector<std::int64_t> content_bytes;      ///< (content) of one token at the destination, of a state all of it
  std::vector<IdStep> from_steps, to_steps;
  std::vector<TokenTables> tables;
  std::vector<PairRoutes> pairs;                ///< by destination and source
};

/// Matches what both sides hold. Throws as the constructor of TransferMap. Borrows from the sides.
TransferRoutes make_routes(const TransferSide& from, const TransferSide& to, const TransferOptions& options);

}  // namespace hybridkv
