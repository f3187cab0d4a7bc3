// What is typed about a GPU beside a scenario, and what of it is refused.
#include "ask/start/boot_words.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"

using namespace hybridkv;

namespace {

/// Why words are refused; empty where they are taken.
std::string refusal_of_words(const BootWords& words) {
  BootQuestion question;
  try {
    take_words(question, words);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("golden: what is typed of a GPU is what is asked of it, and its memory is all that it has") {
  BootQuestion question;
  const auto memory = take_words(question, {.gpu = "H100", .utilization = "0.85", .weights = "9GiB", .beside = "1GiB",
                                            .available = {}, .max_num_seqs = 64});
  REQUIRE(question.gpu.has_value());
  CHECK(question.gpu->gpu.name == "H100");
  CHECK(question.gpu->utilization == 0.85);
  CHECK(question.gpu->weights_bytes == std::int64_t{9} << 30);
  CHECK(question.gpu->beside_bytes == std::int64_t{1} << 30);
  CHECK(question.max_num_seqs == 64);
  REQUIRE(memory.has_value());
  CHECK(memory->bytes == question.gpu->gpu.total_bytes);
  CHECK(memory->shown == "--gpu H100");
}

TEST_CASE("edge: a share of a GPU is more than nothing and at most all of it") {
  const auto refused = [](const std::string& share) {
    return refusal_of_words({.gpu = "H100", .utilization = share});
  };
  CHECK(refused("0.01").empty());
  CHECK(refused("1").empty());
  for (const std::string share : {"0", "-0.5", "1.01", "90%", "much", "1e999"})
    CHECK(refused(share) == "--utilization " + share + ": is no share of the GPU; write it like 0.9");
  CHECK(refusal_of_words({.gpu_memory = "80GiB", .utilization = "0", .are_keywords = true}) ==
        "utilization=0: is no share of the GPU; write it like 0.9");
}

TEST_CASE("edge: memory as an engine prints it is in GiB, and what belongs to a GPU is refused without one") {
  BootQuestion question;
  const auto memory = take_words(question, {.available = "40.00"});
  REQUIRE(memory.has_value());
  CHECK(memory->bytes == std::int64_t{40} << 30);
  CHECK(question.printed_memory == memory->bytes);
  CHECK_FALSE(question.gpu.has_value());
  CHECK(refusal_of_words({.weights = "9GiB"}) ==
        "--weights 9GiB: belongs to --gpu NAME or --gpu-memory SIZE, which are missing");
  CHECK_FALSE(take_words(question, {}).has_value());
}
