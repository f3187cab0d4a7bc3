#include "verify/layout/cache_codec.h"

#include "base/convert.h"

namespace hybridkv {

namespace {

/// The largest value that is stored, or 0 for elements that engines keep without a scale.
float largest_stored(const AttentionGeometry& attention) {
  const float largest_e4m3 = widen<fp8_e4m3_format>(fp8_e4m3_format.largest_finite());
  if (attention.format) return attention.format == KvFormat::nvfp4 ? largest_e4m3 * kv_format::largest_e2m1 : 0;
  switch (attention.dtype) {
    case DType::fp8_e4m3: return largest_e4m3;
    case DType::fp8_e5m2: return widen<fp8_e5m2_format>(fp8_e5m2_format.largest_finite());
    case DType::int8: return std::numeric_limits<std::int8_t>::max();
    default: return 0;
  }
}

}  // namespace

KvCodec cache_codec(const AttentionGeometry& attention, float reach) {
  const float largest = largest_stored(attention);
  return {.format = attention.format, .scale = largest > 0 ? reach / largest : 1};
}

bool has_values(const AttentionGeometry& attention) {
  if (attention.kind == AttentionKind::indexer) return false;
  return !attention.cells && (!attention.format || has_codec(*attention.format));
}

}  // namespace hybridkv
