#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_values.h"
#include "transfer/copy_list.h"

namespace hybridkv {

inline constexpr auto spec_role_names = std::to_array<Named<SpecRole>>(
    {{SpecRole::attention, "attention"},
     {SpecRole::window, "window"},
     {SpecRole::encoder, "encoder"},
     {SpecRole::state, "state"},
     {SpecRole::draft, "draft"},
     {SpecRole::auxiliary, "auxiliary"}});

constexpr std::string_view to_string(SpecRole value) { return name_in(spec_role_names, value); }

/// How many runs, and how long they are. Lengths are bytes read at the source. Of one tensor runs are those that begin
/// in it, whole; bytes are its own, also those of runs that began in another.
struct RunSizes {
  std::int64_t descriptors = 0;
  std::int64_t bytes = 0;
  std::int64_t written_bytes = 0;  ///< at the destinations; others than `bytes` where elements are converted
  std::int64_t shortest = 0;       ///< 0 without any
  std::int64_t longest = 0;
  void add(const Copy& copy);
  bool operator==(const RunSizes&) const = default;
};

/// One tensor of all layers of a kind: K and V of full attention, the convolution states of gdn.
struct TransferTensor {
  SpecRole role = SpecRole::attention;
  std::string kind;                ///< Content::kind
  std::string tensor;              ///< Content::tensor
  DType from_dtype = DType::bf16;
  DType to_dtype = DType::bf16;
  std::int64_t layers = 0;
  std::int64_t unique_bytes = 0;   ///< each element once
  RunSizes runs;
};

/// What one rank reads from another.
struct TransferPair {
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  RunSizes runs;
};

/// The same of one tensor alone.
struct TransferPairTensor {
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::size_t tensor = 0;          ///< position in TransferCounts::tensors
  RunSizes runs;
};

/// Runs of `least_bytes` to less than twice as many.
struct RunSizeBin {
  std::int64_t least_bytes = 0;    ///< a power of two
  std::int64_t descriptors = 0;
  std::int64_t bytes = 0;
};

/// A list of copies by tensor, by pair of ranks and by size.
/// Invariants: the runs of the pairs, those of the rows and the bins each add up to `all`.
struct TransferCounts {
  RunSizes all;
  std::int64_t median_bytes = 0;   ///< of a run; of an even number the lower one
  std::int64_t unique_bytes = 0;   ///< what must move at least
  std::vector<TransferTensor> tensors;    ///< in the order of the contents; tensors of one kind and type together
  std::vector<std::size_t> tensor_of;     ///< (content) position in `tensors`
  std::vector<TransferPair> pairs;        ///< in the order of the list
  std::vector<TransferPairTensor> rows;   ///< pair by pair, those that copy something
  std::vector<RunSizeBin> sizes;          ///< ascending, those that hold a run

  /// Written more than once because several ranks keep the same.
  std::int64_t replica_bytes() const { return all.written_bytes - unique_bytes; }
  /// Of states, or of anything else.
  RunSizes of_states() const;
  RunSizes of_tokens() const;
};

TransferCounts count_runs(const CopyList& list);

}  // namespace hybridkv
