// A scenario file in YAML, up to its plans and the points of its sweep.
#include "fuzz/harness.h"
#include "fuzz/plan_checks.h"
#include "scenarios/read.h"

using namespace hybridkv;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Input(data, size).rest();
  const std::size_t choice = fuzz::choice_of(text);
  fuzz::accepts([&] { fuzz::check_scenario(parse_scenario(text, "fuzz.yaml", "no-such-folder"), choice); });
  return 0;
}
