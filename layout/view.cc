#include "layout/view.h"

#include <cstdint>

#include "base/convert.h"
#include "layout/cosize.h"

namespace hybridkv {

TensorView make_view(std::span<std::byte> memory, DType dtype, const Layout& layout) {
  const std::int64_t element = element_bytes(dtype);
  const auto size_bytes = static_cast<std::int64_t>(memory.size());
  expects(cosize(layout) <= size_bytes / element, "every element of a view lies inside its memory");
  expects(reinterpret_cast<std::uintptr_t>(memory.data()) % static_cast<std::uintptr_t>(element) == 0,
          "the memory of a view is aligned to its elements");
  return {memory.data(), size_bytes, dtype, layout};
}

float load_element(const std::byte* address, DType dtype) {
  float value = 0;
  load_elements(address, dtype, {&value, 1});
  return value;
}

void store_element(std::byte* address, DType dtype, float value) { store_elements(address, dtype, {&value, 1}); }

}  // namespace hybridkv
