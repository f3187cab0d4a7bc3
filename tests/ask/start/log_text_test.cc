// Lines of logs as a terminal shows them.
#include "ask/start/log_text.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("golden: escapes that colour a line are left out, whole or cut off, and nothing else") {
  CHECK(without_colours("\x1b[1;31mWARN\x1b[0m 528 tokens") == "WARN 528 tokens");
  CHECK(without_colours("cache \x1b[36m\x1b[1msize") == "cache size");
  CHECK(without_colours("no [colour] here") == "no [colour] here");
  CHECK(without_colours("cut \x1b") == "cut ");
  CHECK(without_colours("cut \x1b[") == "cut ");
  CHECK(without_colours("cut \x1b[1;3") == "cut ");
}
