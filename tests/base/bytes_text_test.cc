#include "base/bytes_text.h"

#include <doctest/doctest.h>

#include <limits>

namespace hybridkv {

TEST_CASE("edge: bytes as text, exact and in the largest unit that fits") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1024) == "1024 bytes (1.00 KiB)");
  CHECK(bytes_text(2162688) == "2162688 bytes (2.06 MiB)");
  CHECK(bytes_text(std::int64_t{40} << 30) == "42949672960 bytes (40.00 GiB)");
  CHECK(bytes_text(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807 bytes (8.00 EiB)");
}

}  // namespace hybridkv
