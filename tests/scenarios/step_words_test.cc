// Steps as people write them.
#include "scenarios/step_words.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/error.h"

namespace hybridkv::test {

TEST_CASE("a step is read as it is written, with units, in one part or several") {
  const StepShape shape =
      read_step("64 x decode behind 8k + prompt 2048 behind 10K found, 2 prompt 512,3 x decode 4 behind 7");
  CHECK(shape.name == "64 x decode 1 behind 8192 + prompt 2048 behind 10240 found + 2 x prompt 512 + "
                      "3 x decode 4 behind 7");
  CHECK(shape.parts[3] == ShapePart{.query = 4, .context = 7, .drafts = 3, .count = 3});
}

TEST_CASE("law: what a step is called is read as that step") {
  CHECK(rc::check([] {
    std::vector<ShapePart> parts;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      ShapePart part{.context = *rc::gen::inRange(1, 100'000), .count = *rc::gen::inRange(1, 300)};
      if (*rc::gen::arbitrary<bool>()) {
        part.drafts = *rc::gen::inRange(0, 5);
        part.query = 1 + part.drafts;
      } else {
        part.query = *rc::gen::inRange(2, 9000);
        part.found = *rc::gen::arbitrary<bool>();
      }
      parts.push_back(part);
    }
    RC_ASSERT(read_step(shape_name(parts)).parts == parts);
  }));
}

TEST_CASE("what is no step is refused, with the part and how one is written") {
  const auto refusal = [](const char* text) {
    try {
      read_step(text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  CHECK(refusal("64 x decod behind 8k") ==
        "--step: '64 x decod behind 8k': decod is neither decode nor prompt; did you mean 'decode'?; a step is written "
        "like \"64 x decode behind 8k + prompt 2k behind 10k found\"");
  CHECK(refusal("").find("says neither decode nor prompt") != std::string::npos);
  CHECK(refusal("prompt 5 +").find("''") != std::string::npos);
  CHECK(refusal("prompt").find("a prompt has a number of tokens") != std::string::npos);
  CHECK(refusal("decode").find("who generates does so behind tokens") != std::string::npos);
  CHECK(refusal("decode behind 0").find("0 tokens are not from 1 to") != std::string::npos);
  CHECK(refusal("0 x prompt 5").find("0 requests are not from 1 to") != std::string::npos);
  CHECK(refusal("prompt 5 behind 5q").find("5q ") != std::string::npos);
  CHECK(refusal("prompt 5 behind").find("followed by a number") != std::string::npos);
  CHECK(refusal("decode behind 5 found").find("found is not expected there") != std::string::npos);
  CHECK(refusal("100000 x decode behind 5 + decode behind 5").find("more than 100000 requests") != std::string::npos);
  CHECK(refusal("prompt 9999999999999999999").find("prompt 9999999999999999999") != std::string::npos);
}

}  // namespace hybridkv::test
