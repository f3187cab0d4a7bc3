#include "tests/attention/coverage.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/attention/batch.h"

namespace hybridkv::test {
namespace {

/// Runs a row and checks every backend; returns the runs.
std::vector<CoverageRun> check_row(const Row& row, std::uint64_t seed) {
  const std::vector<CoverageRun> runs = run_row(row, seed);
  for (const CoverageRun& run : runs) CHECK_MESSAGE(run.error <= 1, describe(run.row), ", seed ", seed);
  return runs;
}

// Under a sanitizer, which looks at addresses and not at pairs, a row in four: all take five minutes there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t row_step = 4;
#else
constexpr std::size_t row_step = 1;
#endif

TEST_CASE("law: all pairs of batch, layout, heads, element type, rule and backend equal the reference") {
  constexpr std::uint64_t seed = 2025;
  constexpr std::size_t fewest_runs = 400 / row_step;
  std::vector<Row> rows = covering_rows(coverage_factors(), coverage_excludes, seed), runs;
  std::mt19937_64 random(seed);
  double largest = 0;
  for (std::size_t i = 0; i < rows.size(); i += row_step) {
    for (const CoverageRun& run : check_row(rows[i], seed + i)) {
      runs.push_back(run.row);
      largest = std::max(largest, run.error);
    }
    if (i + row_step >= rows.size() && runs.size() < fewest_runs)
      for (std::size_t more = 0; more < row_step; ++more)
        rows.push_back(random_row(coverage_factors(), coverage_excludes, random));
  }
  const std::vector<Factor>& factors = coverage_factors_with_backend();
  CHECK(runs.size() >= fewest_runs);
  if (row_step > 1) return;
  CHECK(uncovered_pairs(factors, coverage_excludes, runs).empty());
  MESSAGE(fmt::format("{} runs of {} rows cover all {} pairs of {} factors; largest error {:.3f} of what is allowed",
                      runs.size(), rows.size(), allowed_pairs(factors, coverage_excludes).size(), factors.size(),
                      largest));
}

TEST_CASE("nightly: 5000 random combinations are within rounding of the reference") {
  const char* chosen = std::getenv("HYBRIDKV_NIGHTLY");
  if (chosen == nullptr) {
    std::puts("SKIPPED: HYBRIDKV_NIGHTLY is not set (to a seed, or to 0 for a new one)");
    return;
  }
  std::uint64_t seed = std::strtoull(chosen, nullptr, 10);
  if (seed == 0) seed = std::random_device{}();
  std::printf("seed %llu: HYBRIDKV_NIGHTLY=%llu repeats this run\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  std::size_t runs = 0;
  while (runs < 5000) {
    const Row row = random_row(coverage_factors(), coverage_excludes, random);
    runs += check_row(row, random()).size();
  }
  MESSAGE(fmt::format("{} runs", runs));
}

TEST_CASE("fault: a scale one percent off and a block of nobody are seen by the comparison, with every backend") {
  Row row(coverage_factors().size());
  row[0] = 2;
  CHECK(describe(row).find("batch mixed_small, block 16, ") == 0);
  const auto all_wrong = [&](const std::function<void(AttentionInputs&)>& fault) {
    const std::vector<CoverageRun> runs = run_row(row, 1, fault);
    return std::all_of(runs.begin(), runs.end(), [](const CoverageRun& run) { return run.error > 1; });
  };
  check_row(row, 1);
  CHECK(all_wrong([](AttentionInputs& inputs) { inputs.scale *= 1.01; }));
  CHECK(all_wrong([](AttentionInputs& inputs) {
    change_metadata(inputs, [](auto& metadata) { metadata.block_table[0] = 0; });
  }));
}

}  // namespace
}  // namespace hybridkv::test
