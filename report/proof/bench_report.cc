#include "report/proof/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/document.h"
#include "report/field.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

std::string arithmetic_text(const AttentionBenchResult& result) {
  const auto [keys, values] = result.arithmetic;
  return keys == values ? std::string(to_string(keys)) : fmt::format("{} and {}", to_string(keys), to_string(values));
}

Table bench_table(const std::vector<BenchAnswer::Row>& rows) {
  using Row = BenchAnswer::Row;
  using Work = AttentionWorkloadSpec;
  using Result = AttentionBenchResult;
  const auto of_work = [](auto member) { return via(&Row::spec, &AttentionBenchSpec::workload, member); };
  const auto of = [](auto getter) { return via(&Row::result, getter); };
  const auto timed = [=](auto getter) { return where(of(&Result::is_correct), of(getter)); };
  const auto scaled = [](double scale, int digits, auto getter) {
    return [=](const Result& result) { return Real{scale * std::invoke(getter, result), digits}; };
  };
  const auto percent = [](auto share) {
    return [=](const Result& result) { return Percent{100 * std::invoke(share, result), 0}; };
  };
  const auto is_paged = [](const Row& row) { return row.spec.backend == AttentionBackend::paged; };
  const auto simd = [](const Row& row) { return row.spec.options.paged.simd.value_or(best_simd_path()); };
  return table_of<Row>(
      {{{"batch", "batch"}, [](const Row& row) { return to_string(row.spec.workload.batch); }},
       {{"backend", "backend"}, via(&Row::spec, &AttentionBenchSpec::backend)},
       {{"attention_pack_size", "N"}, of_work(&Work::pack_size)},
       {{"block_size_tokens", "block", "tokens"}, of_work(&Work::block_size_tokens)},
       {for_programs("kernel_block_size_tokens"), of_work(&Work::kernel_block_size_tokens)},
       {for_programs("backend_form"), of_work(&Work::form)},
       {{"physical_order", "order"}, of_work(&Work::order)},
       {{"kv_dtype", "dtype"}, of_work(&Work::dtype)},
       {for_programs("query_heads"), of_work(&Work::query_heads)},
       {for_programs("kv_heads"), of_work(&Work::kv_heads)},
       {for_programs("head_size_k"), of_work(&Work::head_size_k)},
       {for_programs("head_size_v"), of_work(&Work::head_size_v)},
       {for_programs("shared_prefix_tokens"), of_work(&Work::shared_prefix_tokens)},
       {{"threads", "threads"}, [](const Row& row) { return row.spec.options.paged.threads; }},
       {for_programs("simd"), where(is_paged, simd)},
       {for_programs("weights"), [](const Row& row) { return rounds_weights(row.spec) ? "rounded" : "exact"; }},
       {{"correct", "checked"}, of(&Result::is_correct)},
       {for_programs("checked_tokens"), of(&Result::checked_tokens)},
       {for_programs("largest_error"), as<Real>(of(via(&Result::error, &SampledError::largest)), 9)},
       {for_programs("best_seconds"), timed(as<Real>(&Result::best_seconds, 6))},
       {for_programs("median_seconds"), timed(as<Real>(&Result::median_seconds, 6))},
       {for_people("time", "ms"), timed(scaled(1e3, 2, &Result::best_seconds))},
       {for_programs("runs"), timed(&Result::runs)},
       {for_people("of", "roofline"), timed(percent(&Result::share_of_roofline))},
       {{"roofline_bound", "bound by"}, timed(&Result::bound)},
       {for_programs("roofline_seconds"), timed(as<Real>(&Result::roofline_seconds, 6))},
       {for_programs("roofline_ratio"), timed(as<Real>(&Result::share_of_roofline, 3))},
       {for_programs("roofline_holds"), timed(&Result::roofline_holds)},
       {{"gflops_per_second", "GFLOP/s"}, timed(scaled(1e-9, 1, &Result::flops_per_second))},
       {for_programs("arithmetic"), timed(arithmetic_text)},
       {for_programs("peak_gflops_per_second"), timed(scaled(1e-9, 1, &Result::peak_flops_per_second))},
       {for_programs("peak_ratio"), timed(as<Real>(&Result::share_of_peak, 3))},
       {for_programs("kv_bytes"), timed(&Result::kv_bytes)},
       {{"gbytes_per_second", "GB/s"}, timed(scaled(1e-9, 2, &Result::bytes_per_second))},
       {for_programs("read_gbytes_per_second"), timed(scaled(1e-9, 2, &Result::read_bytes_per_second))},
       {for_programs("read_ratio"), timed(as<Real>(&Result::share_of_read, 3))},
       {{"peak_bytes", "biases and", "scratch"}, timed(as<ByteCount>(&Result::peak_bytes))}},
      rows);
}

Table peak_table(const MachineRates& machine) {
  using Peak = MachineRates::Peak;
  return table_of<Peak>(
      {{{"threads", "threads"}, &Peak::threads},
       {{"arithmetic", "products"}, &Peak::arithmetic},
       {{"gflops_per_second", "GFLOP/s"}, [](const Peak& peak) { return Real{1e-9 * peak.flops_per_second, 1}; }}},
      machine.peaks);
}

Table read_table(const MachineRates& machine) {
  using Read = MachineRates::Read;
  return table_of<Read>(
      {{{"threads", "threads"}, &Read::threads},
       {{"level", "read from"}, &Read::level},
       {{"bytes", "bytes"}, as<ByteCount>(&Read::bytes)},
       {{"gbytes_per_second", "GB/s"}, [](const Read& read) { return Real{1e-9 * read.bytes_per_second, 2}; }}},
      machine.reads);
}

/// What is wrong with a row, or with what it is measured against; empty where nothing is.
std::string fault_of(const BenchAnswer::Row& row) {
  const auto& [spec, result] = row;
  const std::string what = fmt::format("backend {} on {}", to_string(spec.backend), to_string(spec.workload.batch));
  if (!result.is_correct())
    return fmt::format("{} differs from {} in float64 by {:.3g} (log-sum-exp: {:.3g}) where {:.3g} (log-sum-exp: "
                       "{:.3g}) is allowed, and was not timed",
                       what, to_string(result.checked_by), result.error.output, result.error.lse, result.allowed_error,
                       exact_error);
  if (!result.roofline_holds())
    return fmt::format("{} is at {:.2f} of its roofline, which nothing can be: this machine was measured wrongly ({}, "
                       "{}), as happens where others use it, too; run it again",
                       what, result.share_of_roofline(), to_string(result.bound()), arithmetic_text(result));
  return {};
}

}  // namespace

std::string render_bench(const BenchAnswer& answer, Format format, const Style& style) {
  const std::vector<BenchAnswer::Row>& rows = answer.rows;
  const Table table = bench_table(rows);
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) {
    nlohmann::ordered_json json;
    json["schema"] = "hybridkv-bench/2";
    json["rows"] = to_json(table);
    json["peaks"] = to_json(peak_table(answer.machine));
    json["reads"] = to_json(read_table(answer.machine));
    return json_text(json);
  }
  Document document;
  document.blocks.emplace_back(Heading{"Attention backends, timed", 1});
  document.blocks.emplace_back(table);
  std::vector<std::string> notes{
      "GFLOP/s counts the pairs of query and key that are not masked; GB/s counts K and V that the batch sees, shared "
      "blocks once. Times are those of the fastest run",
      "roofline: the time that this machine cannot beat, the longer of the products at the peak of the instructions "
      "that the backend uses and of reading K and V once, from a buffer of their size; measured before and after the "
      "row on as many threads, the better one"};
  if (std::any_of(rows.begin(), rows.end(),
                  [](const auto& row) { return row.spec.backend == AttentionBackend::reference; }))
    notes.push_back("backend reference, which the others are checked by, was itself checked by unified in float64");
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return rounds_weights(row.spec); }))
    notes.push_back("weights are rounded to bf16 before they meet V of bf16, as kernels of engines do: outputs may "
                    "differ from float64 by up to 2^-9 of the largest |V|; --weights exact keeps them in float32");
  for (const BenchAnswer::Row& row : rows)
    if (const std::string fault = fault_of(row); !fault.empty()) notes.push_back(fault);
  document.blocks.emplace_back(Listing{notes});
  document.blocks.emplace_back(Heading{"What this machine can do", 2});
  document.blocks.emplace_back(peak_table(answer.machine));
  document.blocks.emplace_back(read_table(answer.machine));
  document.blocks.emplace_back(Listing{
      {"products: loops that touch no memory; read from: bytes that are read again and again in wide loads. The best "
       "of short rounds, all threads together"}});
  return render_people(document, format, style);
}

}  // namespace hybridkv
