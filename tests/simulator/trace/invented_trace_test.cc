// The rules on a small invented trace; tests/data/simulator/invented/README.md says how the results come about.
#include <doctest/doctest.h>

#include "simulator/trace/trace_file.h"
#include "test_paths.h"
#include "tests/simulator/schedule/replay_rows.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

void check_invented(const CacheGeometry& geometry, const std::string& expected) {
  for (const char* form : {"mooncake.jsonl", "qwen.jsonl"}) {
    CAPTURE(form);
    TraceFile trace({.path = std::string(HYBRIDKV_TEST_DATA "/simulator/invented/") + form});
    check_rows(replayed_rows(geometry, trace), expected_rows("invented/" + expected));
  }
}

}  // namespace

TEST_CASE("golden: invented trace, mode align, block 256") {
  check_invented({.block_size_tokens = 256, .num_blocks = 100, .state_groups = 1, .mode = CacheMode::align},
                 "align_bs256.csv");
}

TEST_CASE("golden: invented trace, attention only, block 512") {
  check_invented({.block_size_tokens = 512, .num_blocks = 100}, "full_bs512.csv");
}

TEST_CASE("golden: invented trace, mode all with two recurrent groups, block 512") {
  check_invented({.block_size_tokens = 512, .num_blocks = 100, .state_groups = 2, .mode = CacheMode::all},
                 "full_bs512.csv");
}

TEST_CASE("golden: invented trace, five usable blocks: evictions and refused requests") {
  check_invented({.block_size_tokens = 512, .num_blocks = 6}, "full_bs512_pool6.csv");
}
