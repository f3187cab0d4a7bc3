#include "verify/layout/cache_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/convert.h"
#include "base/random.h"

namespace hybridkv {

namespace {

/// What is drawn lies within 1; integers keep two digits of it.
constexpr float integer_scale = 100;

bool is_integer(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

std::uint64_t place_key(const KvPlace& place) {
  return mix(place.tensor_key ^ mix(static_cast<std::uint64_t>(place.token) << 20 ^
                                    static_cast<std::uint64_t>(place.head) << 1 ^ (place.is_value ? 1u : 0u)));
}

/// Drawn values as those that elements of a type hold well.
void spread(DType dtype, std::span<float> values) {
  if (!is_integer(dtype)) return;
  for (float& value : values) value = (dtype == DType::uint8 ? std::abs(value) : value) * integer_scale;
}

CachedKind kind_of(const SpecPlan& spec) {
  if (spec.ring_tokens > 0) return CachedKind::ring;
  if (spec.state) return CachedKind::state;
  if (spec.attention->kind == AttentionKind::indexer) return CachedKind::indexer;
  if (spec.is_cross()) return CachedKind::cross;
  return spec.attention->kind == AttentionKind::hidden_state ? CachedKind::hidden_state : CachedKind::attention;
}

}  // namespace

std::string ModelTensor::text() const {
  return fmt::format("{}layer {} {}{}", draft ? "draft " : "", layer, kind == CachedKind::cross ? "cross " : "",
                     kind == CachedKind::indexer ? "indexer" : tensor);
}

ModelTensor model_tensor(const CachePlan& plan, const ViewPlan& view) {
  const SpecPlan& spec = plan.specs[static_cast<std::size_t>(view.spec)];
  return {kind_of(spec), spec.draft, view.layer, view.tensor};
}

std::uint64_t key_of(std::uint64_t seed, const ModelTensor& tensor) {
  std::uint64_t key = mix(mix(seed, static_cast<std::uint64_t>(tensor.layer)),
                          static_cast<std::uint64_t>(tensor.kind) * 2 + (tensor.draft ? 1 : 0));
  for (const char letter : tensor.tensor) key = mix(key, static_cast<unsigned char>(letter));
  return key;
}

void draw_values(std::uint64_t key, std::span<float> values) {
  // 32 bits each, so that several are drawn at once (lowbias32 of Wellons' hash prospector).
  const auto start = static_cast<std::uint32_t>(key), step = static_cast<std::uint32_t>(key >> 32) | 1u;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits = start + static_cast<std::uint32_t>(i) * step;
    bits = (bits ^ (bits >> 16)) * 0x7feb352du;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
    bits ^= bits >> 16;
    values[i] = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
  }
}

void store_drawn(DType dtype, std::span<float> values, std::byte* to) {
  spread(dtype, values);
  store_elements(to, dtype, values);
}

double drawn_scale(const AttentionGeometry& attention) {
  return !attention.format && is_integer(attention.dtype) ? integer_scale : 1;
}

void KvRows::draw(const KvPlace& place, std::span<std::byte> row) {
  const std::int64_t elements = std::ssize(row) / element_bytes(kept_.dtype);
  if (kept_.format) {
    if (!has_codec(*kept_.format)) {
      const std::uint64_t key = place_key(place);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(mix(key + i));
      return;
    }
    const KvCodec codec{.format = kept_.format};
    encode_row(codec, kept_.dtype, values(place, decoded_channels(codec, elements)), row.data());
    return;
  }
  values_.resize(static_cast<std::size_t>(elements));
  draw_values(place_key(place), values_);
  if (source_ == kept_.dtype) return store_drawn(source_, values_, row.data());
  stored_.resize(static_cast<std::size_t>(elements * element_bytes(source_)));
  store_drawn(source_, values_, stored_.data());
  load_elements(stored_.data(), source_, values_);
  store_elements(row.data(), kept_.dtype, values_);
  read_.resize(values_.size());
  load_elements(row.data(), kept_.dtype, read_);
  for (std::size_t i = 0; i < read_.size(); ++i)
    largest_error_ = std::max(largest_error_, std::abs(static_cast<double>(read_[i]) - values_[i]));
}

std::span<const float> KvRows::values(const KvPlace& place, std::int64_t channels) {
  values_.resize(static_cast<std::size_t>(channels));
  draw_values(place_key(place), values_);
  if (!kept_.format) spread(kept_.dtype, values_);
  return values_;
}

}  // namespace hybridkv
