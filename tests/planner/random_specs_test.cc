// The generator itself: what it draws, how often, and what is refused.
#include <doctest/doctest.h>

#include <map>

#include "tests/planner/random_specs.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Counts = std::map<std::string, int>;

std::string text(const Counts& counts) {
  std::string line;
  for (const auto& [name, count] : counts) line += std::to_string(count) + " " + name + "; ";
  return line;
}

}  // namespace

TEST_CASE("law: 10,000 random specs can be planned, with every feature among them, and few are refused") {
  for (SpecSize size : {SpecSize::real, SpecSize::tiny}) {
    Counts planned;
    CHECK(check_plans("random specs", 10'000, size, [&](const RandomSpecs& specs, const CachePlan&) {
      for (const std::string& feature : features(specs)) ++planned[feature];
    }));
    MESSAGE(text(planned));
    CHECK(planned.size() == 40);
    for (const auto& [feature, count] : planned) {
      CAPTURE(feature);
      CHECK(count > 200);
    }
  }
}

TEST_CASE("law: random specs are refused for reasons a user can meet") {
  Counts refused;
  CHECK(check_times("refusals", 10'000, [&] {
    const RandomSpecs specs = *random_specs();
    try {
      plan_of(specs);
    } catch (const SpecError& error) {
      RC_ASSERT(!error.message().empty());
      ++refused[error.path()];
    }
  }));
  MESSAGE(text(refused));
  for (const std::string path : {"engine.tensor_parallel", "engine.kernel_block_sizes", "engine.block_size_tokens",
                           "engine.memory", "limits.load_tokens"}) {
    CAPTURE(path);
    CHECK(refused[path] > 0);
  }
}

TEST_CASE("edge: a counterexample is printed with all that is needed to write it down") {
  RandomSpecs specs;
  specs.model.layers = {{AttentionSpec{.kv_heads = 2, .head_size_k = 8, .head_size_v = 8},
                         GdnSpec{.key_heads = 1, .value_heads = 2, .key_head_dim = 4, .value_head_dim = 4}}};
  specs.engine.memory_bytes = 12345;
  specs.limits.max_model_lens = {77};
  std::ostringstream os;
  os << specs;
  for (const std::string part :
       {"full_attention(q 0, kv 2 x 8/8", "gdn(1/2 x 4/4", "memory=12345", "max_model_len=77"}) {
    CAPTURE(part);
    CHECK(os.str().find(part) != std::string::npos);
  }
}
