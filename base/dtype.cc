#include "base/dtype.h"

#include <array>
#include <utility>

namespace hybridkv {

std::optional<DType> parse_dtype(std::string_view name) {
  if (const auto dtype = value_in(dtype_names, name)) return dtype;
  static constexpr std::array<std::pair<std::string_view, DType>, 4> aliases{
      {{"fp8", DType::fp8_e4m3}, {"float32", DType::fp32}, {"float16", DType::fp16}, {"bfloat16", DType::bf16}}};
  for (const auto& [alias, dtype] : aliases)
    if (alias == name) return dtype;
  return std::nullopt;
}

}  // namespace hybridkv
