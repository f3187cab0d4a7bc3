#include "ask/start/doctor_settings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "scenarios/read.h"
#include "tests/ask/start/log_of_text.h"

using namespace hybridkv;

namespace {

std::vector<DoctorSettings> possible_of(const std::string& line) {
  const DoctorQuestion question{
      .log = testing::log_of_text(line), .log_name = "a log", .asked = parse_scenario("{}", "nothing"), .typed = {}};
  return possible_settings(question, ModelSpec{});
}

/// Rules of the other release than the log names, and packs, which none has, are as much as two assumptions.
std::size_t doubt_of(const std::string& assumed) {
  return assumed.starts_with("packs of ") || assumed.starts_with("the rules of ") ? 2 : 1;
}

}  // namespace

TEST_CASE("law: the doubt of settings is that of what they assume, at most two, the least first") {
  for (const std::string line :
       {"model='Qwen/Qwen3.5-4B'", "Initializing a V1 LLM engine (v0.22.0) model='Qwen/Qwen3.5-4B'",
        "Initializing a V1 LLM engine (v0.33.0) model='Qwen/Qwen3.5-4B'"}) {
    CAPTURE(line);
    std::size_t before = 0;
    std::set<std::vector<std::string>> together;
    for (const DoctorSettings& settings : possible_of(line)) {
      std::size_t doubt = 0;
      for (const std::string& assumed : settings.assumed) doubt += doubt_of(assumed);
      CHECK(settings.doubt == doubt);
      CHECK(settings.doubt >= before);
      CHECK(settings.doubt <= 2);
      before = settings.doubt;
      together.insert(settings.assumed);
    }
    for (const char* ranks : {"2 ranks", "4 ranks", "8 ranks"})
      CHECK(together.count({"kv_dtype fp8_e4m3", ranks}) == 1);
    CHECK(together.count({"packs of 5 layers (PR 35703)"}) == 1);
    CHECK(together.count({}) == 1);
  }
}

TEST_CASE("edge: stages and ranks of contexts are taken from the log where there are two or more of them") {
  for (const auto& [said, key] : {std::pair("pipeline_parallel_size", "engine.pipeline_parallel"),
                                  std::pair("decode_context_parallel_size", "engine.decode_context_parallel")})
    for (const std::string ranks : {"1", "2", "4"}) {
      CAPTURE(said);
      CAPTURE(ranks);
      const Assignment wanted{key, ranks};
      for (const DoctorSettings& settings : possible_of(std::string(said) + "=" + ranks + ", model='Qwen/Qwen3.5-4B'"))
        CHECK(std::count(settings.assignments.begin(), settings.assignments.end(), wanted) == (ranks == "1" ? 0 : 1));
    }
}

TEST_CASE("law: drafts that the model itself makes add its draft layer, those of any other method may not") {
  const Assignment draft_layer{"engine.mtp_layers", "1"};
  for (const std::string method : {"mtp", "qwen3_next_mtp", "eagle", "ngram"}) {
    CAPTURE(method);
    std::set<bool> adds;
    for (const DoctorSettings& settings :
         possible_of("speculative_config=SpeculativeConfig(method='" + method + "', num_spec_tokens=3)"))
      adds.insert(std::count(settings.assignments.begin(), settings.assignments.end(), draft_layer) > 0);
    CHECK(adds == (method.ends_with("mtp") ? std::set{true} : std::set{false, true}));
  }
}

TEST_CASE("edge: drafts of no tokens are none") {
  for (const std::string drafts : {"0", "3"}) {
    CAPTURE(drafts);
    const Assignment tokens{"engine.speculative_tokens", drafts};
    for (const DoctorSettings& settings :
         possible_of("speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=" + drafts + ")"))
      CHECK(std::count(settings.assignments.begin(), settings.assignments.end(), tokens) == (drafts == "0" ? 0 : 1));
  }
}
