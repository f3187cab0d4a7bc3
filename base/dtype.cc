#include "base/dtype.h"

#include <array>
#include <utility>

namespace hybridkv {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::fp32: return "fp32";
    case DType::fp16: return "fp16";
    case DType::bf16: return "bf16";
    case DType::fp8_e4m3: return "fp8_e4m3";
    case DType::fp8_e5m2: return "fp8_e5m2";
    case DType::int8: return "int8";
    case DType::uint8: return "uint8";
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType dtype : all_dtypes)
    if (to_string(dtype) == name) return dtype;
  static constexpr std::array<std::pair<std::string_view, DType>, 4> aliases{
      {{"fp8", DType::fp8_e4m3}, {"float32", DType::fp32}, {"float16", DType::fp16}, {"bfloat16", DType::bf16}}};
  for (const auto& [alias, dtype] : aliases)
    if (alias == name) return dtype;
  return std::nullopt;
}

}  // namespace hybridkv
