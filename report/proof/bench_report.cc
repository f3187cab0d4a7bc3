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

bool has_sgemm(const AttentionBenchResult& result) { return result.sgemm && result.sgemm->flops_per_second > 0; }

/// Pre: has_sgemm.
double share_of_sgemm(const AttentionBenchResult& result) {
  return result.flops_per_second / result.sgemm->flops_per_second;
}

Table bench_table(const std::vector<BenchAnswer>& rows) {
  using Row = BenchAnswer;
  using Work = AttentionWorkloadSpec;
  using Result = AttentionBenchResult;
  const auto of_work = [](auto member) { return via(&Row::spec, &AttentionBenchSpec::workload, member); };
  const auto of = [](auto getter) { return via(&Row::result, getter); };
  const auto timed = [=](auto getter) { return where(of(&Result::is_correct), of(getter)); };
  const auto beside_sgemm = [=](auto getter) { return timed(where(has_sgemm, getter)); };
  const auto scaled = [](double scale, int digits, auto getter) {
    return [=](const Result& result) { return Real{scale * std::invoke(getter, result), digits}; };
  };
  const auto percent = [](auto share) {
    return [=](const Result& result) { return Percent{100 * std::invoke(share, result), 0}; };
  };
  const auto sgemm_rate = via(&Result::sgemm, &SgemmRate::flops_per_second);
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
       {{"gflops_per_second", "GFLOP/s"}, timed(scaled(1e-9, 1, &Result::flops_per_second))},
       {for_people("of", "sgemm"), beside_sgemm(percent(share_of_sgemm))},
       {for_programs("sgemm_gflops_per_second"), beside_sgemm(scaled(1e-9, 1, sgemm_rate))},
       {for_programs("sgemm_kernels"), beside_sgemm(via(&Result::sgemm, &SgemmRate::kernels))},
       {for_programs("kv_bytes"), timed(&Result::kv_bytes)},
       {{"gbytes_per_second", "GB/s"}, timed(scaled(1e-9, 2, &Result::bytes_per_second))},
       {for_people("of", "plain read"), timed(percent(&Result::share_of_read))},
       {for_programs("read_gbytes_per_second"), timed(scaled(1e-9, 2, &Result::read_bytes_per_second))},
       {for_programs("sgemm_ratio"), beside_sgemm(as<Real>(share_of_sgemm, 3))},
       {for_programs("read_ratio"), timed(as<Real>(&Result::share_of_read, 3))},
       {{"peak_bytes", "biases and", "scratch"}, timed(as<ByteCount>(&Result::peak_bytes))}},
      rows);
}

std::string machine_text(const std::vector<BenchAnswer>& rows) {
  for (const auto& [spec, result] : rows) {
    if (!result.is_correct()) continue;
    const std::string read = "plain read: one pass over a buffer as large as the K and V that the batch sees";
    if (!result.sgemm)
      return "sgemm: not measured, because libopenblas.so.0 is not installed (Debian: libopenblas0-pthread); " + read;
    return fmt::format("sgemm: OpenBLAS, 2048 x 2048 x 2048, its kernels for {}; {}. Both on as many threads as the "
                       "row, before and after it, the better one",
                       result.sgemm->kernels, read);
  }
  return "nothing was timed";
}

}  // namespace

std::string render_bench(const std::vector<BenchAnswer>& rows, Format format, const Style& style) {
  const Table table = bench_table(rows);
  if (format == Format::csv) return render_csv(table);
  if (format == Format::json) {
    nlohmann::ordered_json json;
    json["schema"] = "hybridkv-bench/1";
    json["rows"] = to_json(table);
    return json_text(json);
  }
  Document document;
  document.blocks.emplace_back(Heading{"Attention backends, timed", 1});
  document.blocks.emplace_back(table);
  std::vector<std::string> notes{
      "GFLOP/s counts the pairs of query and key that are not masked; GB/s counts K and V that the batch sees, shared "
      "blocks once. Times are those of the fastest run",
      machine_text(rows)};
  if (std::any_of(rows.begin(), rows.end(),
                  [](const BenchAnswer& row) { return row.spec.backend == AttentionBackend::reference; }))
    notes.push_back("backend reference, which the others are checked by, was itself checked by unified in float64");
  if (std::any_of(rows.begin(), rows.end(), [](const BenchAnswer& row) { return rounds_weights(row.spec); }))
    notes.push_back("weights are rounded to bf16 before they meet V of bf16, as kernels of engines do: outputs may "
                    "differ from float64 by up to 2^-9 of the largest |V|; --weights exact keeps them in float32");
  for (const auto& [spec, result] : rows)
    if (!result.is_correct())
      notes.push_back(fmt::format("backend {} on {} differs from {} in float64 by {:.3g} (log-sum-exp: {:.3g}) where "
                                  "{:.3g} (log-sum-exp: {:.3g}) is allowed, and was not timed",
                                  to_string(spec.backend), to_string(spec.workload.batch), to_string(result.checked_by),
                                  result.error.output, result.error.lse, result.allowed_error, exact_error));
  document.blocks.emplace_back(Listing{notes});
  return render_people(document, format, style);
}

}  // namespace hybridkv
