// Settings under which llama-server is asked for its caches.
#include "engines/llama_cpp/conformance.h"

#include <doctest/doctest.h>

#include "planner/row_settings.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("law: half of the random passes over the layers that are said at all are short, the others up to 1,024") {
  const ModelSpec model = qwen35_397b();
  int said = 0, up_to_64 = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const auto tokens = conformance_of_llama_cpp.random(model, key).own.find(row_key::ubatch_size);
    if (!tokens) continue;
    ++said;
    up_to_64 += *tokens <= 64 ? 1 : 0;
    CHECK(*tokens >= 1);
    CHECK(*tokens <= 1024);
  }
  // Three in four are said. Of these half are short and one in 16 of the rest: 17 in 32 of about 750, give or take 14.
  CHECK(said > 650);
  CHECK(up_to_64 > 0.45 * said);
  CHECK(up_to_64 < 0.62 * said);
}
