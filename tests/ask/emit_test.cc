// What can be emitted, and what cannot.
#include "ask/emit.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("rule: plug-ins are those of engines that have one, and a word for none is refused with what there is") {
  CHECK(emitted_kinds() == std::vector<std::string>{"vllm-builder"});
  CHECK_THROWS_WITH_AS(emit("vllm-bilder", small_scenario(), "a test", EmitParts::module),
                       "KIND vllm-bilder: nothing of that kind is written; there is vllm-builder; did you mean "
                       "'vllm-builder'?", InputError);
}
