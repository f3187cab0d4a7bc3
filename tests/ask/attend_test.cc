#include "ask/attend.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/npy.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
namespace fs = std::filesystem;

TEST_CASE("golden: a published batch is attended to in both precisions, and written where it was asked for") {
  const testing::ScratchFolder scratch;
  const fs::path batch = fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example";
  for (const bool in_float64 : {false, true}) {
    const AttendAnswer answer =
        attend({.folder = batch.string(), .output_folder = scratch.path.string(),
                .overwrite = in_float64 ? Overwrite::forced : Overwrite::no, .in_float64 = in_float64});
    CHECK(answer.folder == scratch.path.string());
    CHECK(answer.requests > 0);
    CHECK(answer.query_tokens >= answer.requests);
    const auto wanted = read_npy(batch / "out_ref_f64.npy");
    const auto expected = wanted.values<double>();
    const auto written = read_npy(scratch.path / "out.npy");
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = in_float64 ? written.values<double>()[i] : written.values<float>()[i];
      largest = std::max(largest, std::abs(value - expected[i]));
    }
    CHECK(largest < (in_float64 ? 1e-6 : 1e-5));
    for (const BackendComparison& other : answer.backends) CHECK((other.declined || other.difference < 1e-4));
  }
}

TEST_CASE("edge: a result that is there is replaced only where that was said") {
  const testing::ScratchFolder scratch;
  const fs::path batch = fs::path(HYBRIDKV_TEST_DATA) / "attention" / "doc_example";
  for (const char* name : {"out.npy", "lse.npy"}) {
    const fs::path file = scratch.file(name, "mine");
    CHECK_THROWS_WITH_AS(attend({.folder = batch.string(), .output_folder = scratch.path.string()}),
                         doctest::Contains(name), InputError);
    CHECK(fs::file_size(file) == 4);
    fs::remove(file);
    CHECK(fs::is_empty(scratch.path));
  }
}

TEST_CASE("edge: a folder to write to that is none is refused before the batch is read") {
  const testing::ScratchFolder scratch;
  CHECK_THROWS_WITH_AS(attend({.folder = "nowhere", .output_folder = (scratch.path / "none").string()}),
                       doctest::Contains("no such folder to write out.npy and lse.npy to"), InputError);
}
