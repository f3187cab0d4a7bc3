#include "base/suggest.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace hybridkv::test {

using Words = std::vector<std::string>;

TEST_CASE("golden: edit distances") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("engine", "egnine") == 1);
  CHECK(edit_distance("ENGINE", "engine") == 0);
  CHECK(equal_ignoring_case("Qwen3.5-4B", "qwen3.5-4b"));
  CHECK_FALSE(equal_ignoring_case("Qwen3.5-4B", "Qwen3.5-4"));
}

TEST_CASE("law: the edit distance is symmetric, zero for equal words, and bounded by the longer word") {
  CHECK(rc::check("distances", [](const std::string& a, const std::string& b) {
    const std::size_t distance = edit_distance(a, b);
    RC_ASSERT(distance == edit_distance(b, a));
    RC_ASSERT(edit_distance(a, a) == 0U);
    RC_ASSERT(distance <= std::max(a.size(), b.size()));
    RC_ASSERT(distance >= std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
    RC_ASSERT(edit_distance(a + "x", a) == 1U);
  }));
}

TEST_CASE("edge: continuations come before near words, at most three") {
  const Words known{"memory", "mtp_layers", "kv_dtype", "conv_dtype", "ssm_dtype"};
  CHECK(closest_words("memroy", known) == Words{"memory"});
  CHECK(closest_words("mem", known) == Words{"memory"});
  // One letter from "modes" and five from "model_name", which alone goes on as it was begun.
  CHECK(closest_words("model", {"modes", "model_name"}) == Words{"model_name"});
  CHECK(closest_words("dtype", known) == Words{"kv_dtype", "ssm_dtype", "conv_dtype"});
  CHECK(closest_words("ty", known) == Words{});
  CHECK(closest_words("kv_dtyp", known) == Words{"kv_dtype"});
  CHECK(closest_words("", known) == Words{});
  CHECK(closest_words(std::string(1000, 'm'), known) == Words{});
  CHECK(closest_words("ab", {"ab1", "ab2", "ab3", "ab4"}) == Words{"ab1", "ab2", "ab3"});
}

TEST_CASE("edge: a suggestion lists all words where none is near") {
  CHECK(suggestion("memroy", {"memory"}, "known:") == "; did you mean 'memory'?");
  CHECK(did_you_mean("memroy", {"memory", "model"}) == "; did you mean 'memory'?");
  CHECK(did_you_mean("xyz", {"memory", "model"}) == "");
  CHECK(suggestion("xyz", {"memory", "model"}, "known:") == "; known: memory, model");
}

}  // namespace hybridkv::test
