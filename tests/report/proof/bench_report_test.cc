#include "report/proof/bench_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

BenchAnswer timed_paged() {
  BenchAnswer answer;
  BenchAnswer::Row& row = answer.rows.emplace_back();
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
  result.arithmetic = {Arithmetic::bf16_avx512, Arithmetic::fp32_avx512};
  result.peak_flops_per_second = 10.5e9;
  result.peak_bytes = 1024;
  answer.machine.peaks = {{1, Arithmetic::fp32_avx2, 79.75e9}, {2, Arithmetic::bf16_tiles, 5e12}};
  answer.machine.reads = {{2, MemoryLevel::l2, 2 << 20, 104.5e9}};
  return answer;
}

}  // namespace

TEST_CASE("golden: a timed backend beside what the machine can do, for people and for programs") {
  const std::string table = render_bench(timed_paged(), Format::table);
  CAPTURE(table);
  for (const char* shown : {"12.35", "5.2", "50 %", "products", "2.12", "1.0 KiB", "fp32 avx2", "79.8",
                            "bf16 tiles", "5,000.0", "L2", "2.0 MiB", "104.5"}) CHECK(contains(table, shown));
  const nlohmann::json json = nlohmann::json::parse(render_bench(timed_paged(), Format::json));
  const nlohmann::json& row = json["rows"][0];
  CAPTURE(row.dump(2));
  CHECK(row["best_seconds"] == 0.0123456);
  CHECK(row["median_seconds"] == 0.0234567);
  CHECK(row["largest_error"] == 2e-7);
  CHECK(row["checked_tokens"] == 8);
  CHECK(row["runs"] == 3);
  CHECK(row["gflops_per_second"] == 5.25);
  CHECK(row["arithmetic"] == "bf16 avx512 and fp32 avx512");
  CHECK(row["peak_gflops_per_second"] == 10.5);
  CHECK(row["peak_ratio"] == 0.5);
  CHECK(row["kv_bytes"] == 4096);
  CHECK(row["read_gbytes_per_second"] == 8.5);
  CHECK(row["read_ratio"] == 0.25);
  CHECK(row["roofline_bound"] == "products");
  CHECK(row["roofline_ratio"] == 0.5);
  CHECK(row["roofline_seconds"] == 0.0061728);
  CHECK(row["roofline_holds"] == true);
  CHECK(row["peak_bytes"] == 1024);
  CHECK(json["peaks"][1] ==
        nlohmann::json{{"threads", 2}, {"arithmetic", "bf16 tiles"}, {"gflops_per_second", 5000.0}});
  CHECK(json["reads"][0] ==
        nlohmann::json{{"threads", 2}, {"level", "L2"}, {"bytes", 2 << 20}, {"gbytes_per_second", 104.5}});
}

TEST_CASE("fault: a peak that a kernel beats is a fault of the measurement, and the answer says so") {
  const std::string said = "measured wrongly";
  CHECK_FALSE(contains(render_bench(timed_paged(), Format::table), said));
  BenchAnswer fake = timed_paged();
  AttentionBenchResult& result = fake.rows[0].result;
  const auto holds = [&] {
    const nlohmann::json row = nlohmann::json::parse(render_bench(fake, Format::json))["rows"][0];
    return row["roofline_holds"] == true && !contains(render_bench(fake, Format::table), said) &&
           contains(render_bench(fake, Format::csv), ",true,");
  };
  result.peak_flops_per_second = result.flops_per_second;
  CHECK(holds());
  result.peak_flops_per_second = result.flops_per_second / 1.25;
  CHECK_FALSE(holds());
  CHECK(contains(render_bench(fake, Format::table), "is at 1.25 of its roofline"));
  result.peak_flops_per_second = 2 * result.flops_per_second;
  result.read_bytes_per_second = result.bytes_per_second / 1.01;
  CHECK_FALSE(holds());
  CHECK(contains(render_bench(fake, Format::table), "measured wrongly (read"));
}

TEST_CASE("edge: what was wrong was not timed, and has no figures") {
  BenchAnswer wrong = timed_paged();
  wrong.rows[0].result.error.output = 1;
  const nlohmann::json row = nlohmann::json::parse(render_bench(wrong, Format::json))["rows"][0];
  CHECK(row["correct"] == false);
  for (const char* figure : {"best_seconds", "runs", "gflops_per_second", "peak_ratio", "read_ratio", "roofline_ratio",
                             "roofline_holds", "peak_bytes"})
    CHECK(row[figure].is_null());
}
