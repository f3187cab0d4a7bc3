#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/kv_codec.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What a cached tensor is to its layer.
enum class CachedKind { attention, hidden_state, indexer, state, ring, cross };

/// A cached tensor by its place in the model, whatever ranks, blocks and pages keep it.
struct ModelTensor {
  CachedKind kind = CachedKind::attention;
  bool draft = false;       ///< layers of a draft model, numbered in a list of their own
  std::int64_t layer = 0;
  std::string tensor;       ///< "kv", "conv", "ssm", "ring"
  auto operator<=>(const ModelTensor&) const = default;

  /// "layer 3 kv", "draft layer 0 kv", "layer 4 indexer", "layer 5 cross kv".
  std::string text() const;
};

/// The tensor that a view of a plan is of.
ModelTensor model_tensor(const CachePlan& plan, const ViewPlan& view);

/// The key of all that is drawn for a tensor.
std::uint64_t key_of(std::uint64_t seed, const ModelTensor& tensor);

/// Values in [-1, 1], each a well-mixed function of the key and its place in the row.
void draw_values(std::uint64_t row_key, std::span<float> values);

/// The same as elements of a type that hold them well: of integers the values times 100, of unsigned ones without their
/// signs. Changes the values to those that are stored. Pre: `to` has room.
void store_drawn(DType dtype, std::span<float> values, std::byte* to);

/// How many times larger than 1 the largest K and V are that a cache of such elements reads.
double drawn_scale(const AttentionGeometry& attention);

/// Which row of K or V: by its place in the model.
struct KvPlace {
  std::uint64_t tensor_key = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;  ///< KV head of the whole model
  bool is_value = false;
};

/// Draws rows of K and V as a cache keeps them. For one thread: it has scratch.
class KvRows {
 public:
  /// `source`: the elements that values were stored in first; in a cache of others each is rounded once more.
  KvRows(const AttentionGeometry& kept, DType source) : kept_(kept), source_(source) {}

  /// All stored bytes of a head of K or V. In a format without a codec any bytes.
  void draw(const KvPlace& place, std::span<std::byte> row);
  /// The values that belong there before they are stored. Pre: no format, or one with a codec.
  std::span<const float> values(const KvPlace& place, std::int64_t channels);
  /// Largest difference of an element from what the source keeps, over all rows drawn.
  double largest_error() const { return largest_error_; }

 private:
  const AttentionGeometry& kept_;
  DType source_;
  std::vector<float> values_, read_;
  std::vector<std::byte> stored_;
  double largest_error_ = 0;
};

}  // namespace hybridkv
