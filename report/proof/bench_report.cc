#include "report/proof/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/document.h"
#include "report/human.h"
#include "report/json_text.h"

namespace hybridkv {

namespace {

/// A value of a row that was timed, or an empty cell.
Cell timed(const AttentionBenchResult& result, Cell value) { return result.is_correct() ? value : std::monostate{}; }

Table bench_table(const std::vector<BenchedAttention>& rows) {
  using enum Audience;
  Table table({{"batch", "batch", "", Align::left},
               {"backend", "backend", "", Align::left},
               {"attention_pack_size", "N"},
               {"block_size_tokens", "block", "tokens"},
               {"kernel_block_size_tokens", "kernel block", "tokens", Align::right, programs},
               {"backend_form", "form", "", Align::left, programs},
               {"physical_order", "order", "", Align::left},
               {"kv_dtype", "dtype", "", Align::left},
               {"query_heads", "query heads", "", Align::right, programs},
               {"kv_heads", "KV heads", "", Align::right, programs},
               {"head_size_k", "head size K", "", Align::right, programs},
               {"head_size_v", "head size V", "", Align::right, programs},
               {"shared_prefix_tokens", "shared prefix", "tokens", Align::right, programs},
               {"threads", "threads"},
               {"simd", "instructions", "", Align::left, programs},
               {"weights", "weights", "", Align::left, programs},
               {"correct", "checked", "", Align::left},
               {"checked_tokens", "checked tokens", "", Align::right, programs},
               {"largest_error", "largest error", "", Align::right, programs},
               {"best_seconds", "best", "s", Align::right, programs},
               {"median_seconds", "median", "s", Align::right, programs},
               {"best_ms", "time", "ms", Align::right, people},
               {"runs", "runs", "", Align::right, programs},
               {"gflops_per_second", "GFLOP/s"},
               {"share_of_sgemm", "of", "sgemm", Align::right, people},
               {"sgemm_gflops_per_second", "sgemm", "GFLOP/s", Align::right, programs},
               {"sgemm_kernels", "sgemm kernels", "", Align::left, programs},
               {"kv_bytes", "K and V", "bytes", Align::right, programs},
               {"gbytes_per_second", "GB/s"},
               {"share_of_read", "of", "plain read", Align::right, people},
               {"read_gbytes_per_second", "plain read", "GB/s", Align::right, programs},
               {"sgemm_ratio", "of sgemm", "", Align::right, programs},
               {"read_ratio", "of plain read", "", Align::right, programs},
               {"peak_bytes", "biases and", "scratch"}});
  for (const auto& [spec, result] : rows) {
    const AttentionWorkloadSpec& work = spec.workload;
    const SimdPath simd = spec.options.paged.simd.value_or(best_simd_path());
    const bool has_simd = spec.backend == AttentionBackend::paged;
    const double sgemm = result.sgemm ? result.sgemm->flops_per_second : 0;
    const double sgemm_ratio = sgemm > 0 ? result.flops_per_second / sgemm : 0;
    const double read_ratio = result.is_correct() ? result.share_of_read() : 0;
    const auto if_sgemm = [&](Cell value) { return sgemm > 0 ? timed(result, value) : std::monostate{}; };
    table.add_row(
        {to_string(work.batch), std::string(to_string(spec.backend)), work.pack_size, work.block_size_tokens,
         work.kernel_block_size_tokens, std::string(to_string(work.form)), std::string(to_string(work.order)),
         std::string(to_string(work.dtype)), work.query_heads, work.kv_heads, work.head_size_k, work.head_size_v,
         work.shared_prefix_tokens, spec.options.paged.threads,
         has_simd ? Cell(std::string(to_string(simd))) : Cell(std::monostate{}),
         std::string(rounds_weights(spec) ? "rounded" : "exact"), result.is_correct(),
         result.checked_tokens, Real{result.error.largest(), 9}, timed(result, Real{result.best_seconds, 6}),
         timed(result, Real{result.median_seconds, 6}), timed(result, Real{1e3 * result.best_seconds, 2}),
         timed(result, result.runs), timed(result, Real{1e-9 * result.flops_per_second, 1}),
         if_sgemm(Percent{100 * sgemm_ratio, 0}), if_sgemm(Real{1e-9 * sgemm, 1}),
         if_sgemm(result.sgemm ? result.sgemm->kernels : ""),
         timed(result, result.kv_bytes),
         timed(result, Real{1e-9 * result.bytes_per_second, 2}),
         timed(result, Percent{100 * read_ratio, 0}),
         timed(result, Real{1e-9 * result.read_bytes_per_second, 2}),
         if_sgemm(Real{sgemm_ratio, 3}), timed(result, Real{read_ratio, 3}),
         timed(result, ByteCount{result.peak_bytes})});
  }
  return table;
}

std::string machine_text(const std::vector<BenchedAttention>& rows) {
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

std::string render_bench(const std::vector<BenchedAttention>& rows, Format format, const Style& style) {
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
                  [](const BenchedAttention& row) { return row.spec.backend == AttentionBackend::reference; }))
    notes.push_back("backend reference, which the others are checked by, was itself checked by unified in float64");
  if (std::any_of(rows.begin(), rows.end(), [](const BenchedAttention& row) { return rounds_weights(row.spec); }))
    notes.push_back("weights are rounded to bf16 before they meet V of bf16, as kernels of engines do: outputs may "
                    "differ from float64 by up to 2^-9 of the largest |V|; --weights exact keeps them in float32");
  for (const auto& [spec, result] : rows)
    if (!result.is_correct())
      notes.push_back(fmt::format("backend {} on {} differs from {} in float64 by {:.3g} (log-sum-exp: {:.3g}) where "
                                  "{:.3g} (log-sum-exp: {:.3g}) is allowed, and was not timed",
                                  to_string(spec.backend), to_string(spec.workload.batch), to_string(result.checked_by),
                                  result.error.output, result.error.lse, result.allowed_error, exact_error));
  document.blocks.emplace_back(Listing{notes});
  return format == Format::markdown ? render_markdown(document) : render_text(document, style);
}

}  // namespace hybridkv
