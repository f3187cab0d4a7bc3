#include "verify/layout/bound_view.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("fault: narrow offsets wrap at the first element that 32 bits do not hold, and keep the byte inside of it") {
  BoundView view;
  view.view.dtype = DType::bf16;
  const std::int64_t first = std::int64_t{1} << 31;  // elements of two bytes
  CHECK(view.engine_byte(2 * first + 1) == 2 * first + 1);
  view.narrow_offsets = true;
  CHECK(view.engine_byte(7) == 7);
  CHECK(view.engine_byte(2 * (first - 1) + 1) == 2 * (first - 1) + 1);
  CHECK(view.engine_byte(2 * first + 1) == -2 * first + 1);
}
