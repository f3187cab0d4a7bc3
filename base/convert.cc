#include "base/convert.h"

#include <cstring>

namespace hybridkv {

void load_elements(const std::byte* from, DType dtype, std::span<float> values) {
  with_dtype(dtype, [&]<DType type>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      CodeOf<type> code;
      std::memcpy(&code, from + i * sizeof code, sizeof code);
      values[i] = decode<type>(code);
    }
  });
}

void store_elements(std::byte* to, DType dtype, std::span<const float> values) {
  with_dtype(dtype, [&]<DType type>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const CodeOf<type> code = encode<type>(values[i]);
      std::memcpy(to + i * sizeof code, &code, sizeof code);
    }
  });
}

void round_elements(DType dtype, std::span<float> values) {
  with_dtype(dtype, [&]<DType element>() {
    for (float& value : values) value = decode<element>(encode<element>(value));
  });
}

}  // namespace hybridkv
