#include "attention/simd_path.h"

#include <doctest/doctest.h>

#if defined(__x86_64__) && defined(__linux__)
#include <algorithm>
#include <set>
#include <string>

#include "tests/attention/processor_flags.h"

namespace hybridkv::test {
namespace {

TEST_CASE("law: a path is there where the system lists all of its instructions") {
  const std::set<std::string> flags = processor_flags();
  if (flags.empty()) {
    MESSAGE("SKIPPED: this system does not list what the processor has");
    return;
  }
  std::set<std::string> needed;
  const auto has_also = [&](const std::set<std::string>& more) {
    needed.insert(more.begin(), more.end());
    return std::includes(flags.begin(), flags.end(), needed.begin(), needed.end());
  };
  CHECK(is_available(SimdPath::plain));
  CHECK(is_available(SimdPath::avx2) == has_also({"avx2", "fma", "f16c"}));
  CHECK(is_available(SimdPath::avx512) == has_also({"avx512f", "avx512bw", "avx512dq", "avx512vl"}));
  CHECK(is_available(SimdPath::avx512bf16) == has_also({"avx512_bf16"}));
}

}  // namespace
}  // namespace hybridkv::test
#endif
