// What the server of llama.cpp b11312 did, request by request and event by event.
#include <doctest/doctest.h>

#include "test_paths.h"
#include "tests/simulator/slots/llama_records.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The records of the folder named by the environment, else those that lie with the tests.
std::vector<std::filesystem::path> record_files() {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder ? std::string(folder) + "/llama.cpp" : std::string(HYBRIDKV_TEST_DATA "/llama.cpp")))
    if (entry.path().filename().string().starts_with("replay_")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("golden: slots, tokens and every event with its numbers of the server of llama.cpp b11312") {
  const std::vector<std::filesystem::path> files = record_files();
  CHECK(files.size() >= 14);
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.string());
    CHECK(difference_in_records(file) == "");
  }
}
