#include "report/proof/bench_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

BenchAnswer timed_paged() {
  BenchAnswer row;
  row.spec.workload.batch = parse_batch_spec("8q1s4k");
  row.spec.backend = AttentionBackend::paged;
  AttentionBenchResult& result = row.result;
  result.checked_tokens = 8;
  result.error = {1e-7, 2e-7};
  result.allowed_error = 1e-5;
  result.runs = 3;
  result.best_seconds = 0.0123456, result.median_seconds = 0.0234567;
  result.flops_per_second = 5.25e9;
  result.kv_bytes = 4096, result.bytes_per_second = 2.125e9;
  result.read_bytes_per_second = 8.5e9;
  result.sgemm = SgemmRate{.flops_per_second = 21e9, .kernels = "Haswell"};
  result.peak_bytes = 1024;
  return row;
}

}  // namespace

TEST_CASE("golden: a timed backend beside what the machine can do, for people and for programs") {
  const std::string table = render_bench({timed_paged()}, Format::table);
  CAPTURE(table);
  for (const char* shown : {"12.35", "5.2", "25 %", "2.12", "1.0 KiB"}) CHECK(contains(table, shown));
  const nlohmann::json json = nlohmann::json::parse(render_bench({timed_paged()}, Format::json));
  const nlohmann::json& row = json["rows"][0];
  CAPTURE(row.dump(2));
  CHECK(row["best_seconds"] == 0.0123456);
  CHECK(row["median_seconds"] == 0.0234567);
  CHECK(row["largest_error"] == 2e-7);
  CHECK(row["checked_tokens"] == 8);
  CHECK(row["runs"] == 3);
  CHECK(row["gflops_per_second"] == 5.25);
  CHECK(row["sgemm_gflops_per_second"] == 21.0);
  CHECK(row["sgemm_kernels"] == "Haswell");
  CHECK(row["sgemm_ratio"] == 0.25);
  CHECK(row["kv_bytes"] == 4096);
  CHECK(row["read_gbytes_per_second"] == 8.5);
  CHECK(row["read_ratio"] == 0.25);
  CHECK(row["peak_bytes"] == 1024);
}

TEST_CASE("edge: what was wrong was not timed, and has no figures") {
  BenchAnswer wrong = timed_paged();
  wrong.result.error.output = 1;
  const nlohmann::json row = nlohmann::json::parse(render_bench({wrong}, Format::json))["rows"][0];
  CHECK(row["correct"] == false);
  for (const char* figure : {"best_seconds", "runs", "gflops_per_second", "sgemm_ratio", "read_ratio", "peak_bytes"})
    CHECK(row[figure].is_null());
}
