#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// Element type of a tensor. Sub-byte and scaled cache formats are no element types
/// (see attention/kv_format.h).
enum class DType { fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, uint8 };

/// In the order of the enumeration; engines have more names for some, see parse_dtype.
inline constexpr auto dtype_names = std::to_array<Named<DType>>(
    {{DType::fp32, "fp32"},
     {DType::fp16, "fp16"},
     {DType::bf16, "bf16"},
     {DType::fp8_e4m3, "fp8_e4m3"},
     {DType::fp8_e5m2, "fp8_e5m2"},
     {DType::int8, "int8"},
     {DType::uint8, "uint8"}});
inline constexpr auto all_dtypes = values_of(dtype_names);

/// Bytes of one element: 4, 2 or 1.
constexpr std::int64_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::fp32: return 4;
    case DType::fp16:
    case DType::bf16: return 2;
    default: return 1;
  }
}

/// The name used in scenarios and JSON: "fp32", "bf16", "fp8_e4m3", …
constexpr std::string_view to_string(DType dtype) { return name_in(dtype_names, dtype); }

/// The element type with this name ("fp8" is fp8_e4m3; the long names "float32", "float16",
/// "bfloat16" are understood too); nothing for any other text.
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace hybridkv
