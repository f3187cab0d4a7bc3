#include <doctest/doctest.h>

#include "tests/cli/run_program.h"

using namespace hybridkv::testing;

TEST_CASE("golden: whose tells a byte of a pack of five layers in each group, and in JSON") {
  const ProgramRun run = run_program("whose qwen3.5-397b 0x12345678 --pack 5 --pool 2");
  CHECK(run.exit_code == 0);
  CHECK(run.output.starts_with("Byte 305,419,896 of pool 2 lies in block 138, 185,976 bytes behind its front."));
  CHECK(contains(run.output, "0  gdn                40  ssm     head 2, value 35, key 30"));
  CHECK(contains(run.output, "15  full_attention     43  K       token 363, head 0, channel 60"));
  const ProgramRun json = run_program("whose qwen3.5-397b 305,419,896 --pack 5 --pool 2 --format json");
  CHECK(contains(json.output, R"("index": {"token": 363, "head": 0, "channel": 60})"));
}

TEST_CASE("message: bytes and pools that there are not are refused, with how a byte is written") {
  const auto refused = [](const std::string& words, const std::string& message) {
    CAPTURE(words);
    const ProgramRun run = run_program("whose qwen3.5-397b --pack 1 " + words);
    CHECK(run.exit_code == 2);
    CHECK_MESSAGE(contains(run.output, message), run.output);
  };
  refused("", "BYTE is missing: the byte of a pool, from its front, like 3145728 or 0x300000");
  refused("0xyz", "BYTE 0xyz: is no byte of a pool; write it like 3145728, 3,145,728, 0x300000 or 3MiB");
  refused("-- 12 13", "engine");
  refused("40GiB", "byte 42949672960: pool 0 has bytes 0 to ");
  refused("1 --pool 15", "pool 15: the plan has 15 pools, numbered from 0");
}
