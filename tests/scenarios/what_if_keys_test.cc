#include "scenarios/what_if_keys.h"

#include <doctest/doctest.h>

#include "scenario_text.h"

namespace hybridkv::test {
namespace {

SupposedLayout what_if_of(std::string_view line) {
  return read_text_as_scenario(engine_text("what_if: {" + std::string(line) + "}")).engine.what_if;
}

std::string what_if_error(std::string_view line) {
  return reading_error(engine_text("what_if: {" + std::string(line) + "}"));
}

using Groups = std::vector<std::vector<std::int64_t>>;

TEST_CASE("rule: what is supposed is read as it is written") {
  CHECK(what_if_of("block_formula: 2 * A").block_formula == "2 * A");
  CHECK(what_if_of("block_formula: 256").block_formula == "256");
  CHECK(what_if_of("page_bytes: 4 MiB").page_bytes == 4 << 20);
  CHECK(what_if_of("groups: [\"3, 7\", \"0..2,4..6\", 9, \"10..20 step 5\"]").groups ==
        Groups{{3, 7}, {0, 1, 2, 4, 5, 6}, {9}, {10, 15, 20}});
  CHECK(what_if_of("state_first_byte: 64, state_alignment_bytes: 128, state_order: recurrent_first").states ==
        StatePlacement{.first_byte = 64, .alignment = 128, .recurrent_first = true});
  CHECK(what_if_of("state_order: conv_first") == SupposedLayout{});
}

TEST_CASE("message: what cannot be supposed is refused at its place") {
  CHECK(what_if_error("groups: [\"3, x\"]").starts_with(
      "bad.yaml:4:21: engine.what_if.groups: '3, x' is no list of layers; write numbers and ranges, like \"3, 7\" or "
      "\"0..2, 4..6\""));
  CHECK(what_if_error("groups: [\"9..3\"]").find("'9..3' is no list of layers") != std::string::npos);
  CHECK(what_if_error("groups: [\"\"]").find("an empty text") != std::string::npos);
  CHECK(what_if_error("page_byte: 4").find("did you mean 'page_bytes'?") != std::string::npos);
  CHECK(what_if_error("state_order: ssm_first").find("conv_first") != std::string::npos);
}

}  // namespace
}  // namespace hybridkv::test
