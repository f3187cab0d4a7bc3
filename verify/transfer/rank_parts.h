#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mamba/recurrent_layer.h"

namespace hybridkv {

/// The parts of `count` that a rank keeps, in its order: dealt out to the ranks in turn, each part going to so many of
/// them where there are fewer parts than ranks. Heads of attention, heads of states, groups, channels.
/// Pre: one number divides the other.
/// Examples: 4 on 2 ranks: (0, 1) and (2, 3); 2 on 4 ranks: 0, 0, 1, 1.
std::vector<std::int64_t> parts_on_rank(std::int64_t count, std::int64_t ranks, std::int64_t rank);

/// A stretch of a row: so many parts, each of so many columns.
struct RowPart {
  std::string_view name;   ///< "k", "B"
  std::int64_t count = 0;  ///< of the whole layer; 1 where every rank keeps all of it
  std::int64_t width = 0;
  bool operator==(const RowPart&) const = default;
};
using PartedRow = std::vector<RowPart>;

/// Of what parts the rows of a whole layer are, as the header of its family lists them.
struct PartedRows {
  PartedRow conv;       ///< a step of the convolution state; empty without one
  PartedRow state;      ///< the recurrent state, one part a head; empty without one
  PartedRow input;      ///< of a token
  PartedRow output;     ///< of a token
  PartedRow decay_log;  ///< weights
  PartedRow step_bias;
  PartedRow skip;
  PartedRow gates;
};
PartedRows parted_rows(const RecurrentSpec& layer);

/// The columns of the whole row that a rank keeps, in its order.
std::vector<std::int64_t> columns_on_rank(const PartedRow& row, std::int64_t ranks, std::int64_t rank);

/// All columns of a row.
std::int64_t width_of(const PartedRow& row);

/// "v, head 3, channel 5" of a column of the whole row.
std::string column_name(const PartedRow& row, std::int64_t column);

/// What a rank computes of a whole layer: its heads, channels and groups, with their weights.
RecurrentLayer layer_on_rank(const RecurrentLayer& whole, std::int64_t ranks, std::int64_t rank);

/// Rows of a token each, of which a rank gets its columns. Pre: whole rows.
std::vector<float> rows_on_rank(const std::vector<float>& rows, const PartedRow& row, std::int64_t ranks,
                                std::int64_t rank);

}  // namespace hybridkv
