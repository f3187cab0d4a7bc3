#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "attention/named_batch.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "report/bench_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct BenchOptions {
  ScenarioOptions scenario;
  std::vector<std::string> batches{"32q1s4k"};
  std::vector<std::string> backends{"paged"};
  std::vector<std::string> orders, dtypes;
  std::vector<std::int64_t> block_sizes, threads{1};
  std::string form, bias, simd;
  std::optional<std::int64_t> kernel_block, query_heads, kv_heads, head_size;
  std::int64_t shared_prefix = 0, window = 0;
  double min_seconds = 0.5;
  OutputOptions output;
};

/// The value of that name, or an error with what there is.
template <class Value>
Value named(const char* flag, const std::string& text, std::optional<Value> value,
            const std::vector<std::string>& all) {
  if (!value)
    throw InputError(fmt::format("{} {}: no such value; take one of {}{}", flag, text, fmt::join(all, ", "),
                                 did_you_mean(text, all)));
  return *value;
}

BatchSpec batch_of(const std::string& text) {
  // A name has an underscore and no digit; a text always has a digit.
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return parse_batch_spec(text);
  std::vector<std::string> names;
  for (const NamedBatch& batch : named_batches()) names.emplace_back(batch.name);
  if (std::find(names.begin(), names.end(), text) == names.end())
    throw InputError(fmt::format("--batch {}: no batch is called that; take one of {}, or write it as 2q1k_32q1s1k{}",
                                 text, fmt::join(names, ", "), did_you_mean(text, names)));
  return named_batch(text);
}

/// Layers without a model: the flags, and for what they leave open a layer of 32 query and 8 KV heads of 128.
std::vector<AttentionWorkloadSpec> layers_of(const BenchOptions& options) {
  const ScenarioOptions& scenario = options.scenario;
  std::vector<AttentionWorkloadSpec> layers;
  if (!scenario.scenario.empty() || !scenario.model.empty()) {
    const Scenario read = read_scenario(scenario);
    for (const CachePlan& plan : plan_scenario(read, read.pack_sizes).plans) layers.push_back(workload_of(plan, {}));
    return layers;
  }
  std::vector<std::int64_t> packs{1};
  if (!scenario.pack.empty()) {
    packs.clear();
    for (const std::string& item : split_list("--pack", scenario.pack)) {
      const ParsedNumber one = parse_integer(item);
      const ParsedRange range = is_range(item) ? parse_range(item) : ParsedRange{{one.value}, one.problem};
      if (!range.problem.empty())
        throw InputError(fmt::format("--pack {}: '{}' {}", scenario.pack, item, range.problem));
      for (const std::int64_t pack : range.values) {
        if (pack < 1 || pack > largest_count)
          throw InputError(
              fmt::format("--pack {}: {} must be from 1 to {} layers", scenario.pack, pack, largest_count));
        packs.push_back(pack);
      }
    }
  }
  for (const std::int64_t pack : packs) {
    AttentionWorkloadSpec layer;
    layer.pack_size = pack;
    layers.push_back(layer);
  }
  return layers;
}

/// A layer with the flags laid over it.
void lay_over(AttentionWorkloadSpec& layer, const BenchOptions& options) {
  if (options.query_heads) layer.query_heads = *options.query_heads;
  if (options.kv_heads) layer.kv_heads = *options.kv_heads;
  if (options.head_size) layer.head_size_k = layer.head_size_v = *options.head_size;
  if (!options.form.empty())
    layer.form = named("--form", options.form, parse_backend_form(options.form),
                       {"paged", "flex", "cpu", "diff_kv", "kv_first", "kv_first_unordered", "mla"});
  layer.shared_prefix_tokens = options.shared_prefix;
  if (options.window > 0) layer.mask = {MaskKind::sliding_window, options.window};
  for (const auto& [value, flag] : {std::pair{layer.query_heads, "--query-heads"}, {layer.kv_heads, "--kv-heads"},
                                    {layer.head_size_k, "--head-size"}})
    if (value < 1 || value > largest_dimension)
      throw InputError(fmt::format("{} {}: must be from 1 to {}", flag, value, largest_dimension));
}

/// The product of all lists, in the order of the flags.
std::vector<AttentionBenchSpec> rows_of(const BenchOptions& options) {
  std::vector<AttentionBenchSpec> rows;
  for (const AttentionWorkloadSpec& planned : layers_of(options)) {
    std::vector<std::int64_t> blocks = options.block_sizes;
    if (blocks.empty()) blocks = {planned.block_size_tokens};
    std::vector<std::string> orders = options.orders, dtypes = options.dtypes;
    if (orders.empty()) orders = {std::string(to_string(planned.order))};
    if (dtypes.empty()) dtypes = {std::string(to_string(planned.dtype))};
    for (const std::string& batch : options.batches)
      for (const std::int64_t block : blocks)
        for (const std::string& order : orders)
          for (const std::string& dtype : dtypes)
            for (const std::string& backend : options.backends)
              for (const std::int64_t threads : options.threads) {
                AttentionBenchSpec row;
                row.workload = planned;
                lay_over(row.workload, options);
                row.workload.batch = batch_of(batch);
                if (block != planned.block_size_tokens || dtype != to_string(planned.dtype) || options.head_size ||
                    options.kv_heads || !options.form.empty())
                  row.workload.page_bytes = 0;
                if (block != planned.block_size_tokens) row.workload.kernel_block_size_tokens = block;
                row.workload.block_size_tokens = block;
                if (options.kernel_block) row.workload.kernel_block_size_tokens = *options.kernel_block;
                row.workload.order = named("--order", order, parse_physical_order(order), {"nhd", "hnd", "head_major"});
                row.workload.dtype =
                    named("--dtype", dtype, parse_dtype(dtype),
                          {"fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "uint8"});
                row.backend = named("--backend", backend, parse_attention_backend(backend),
                                    {"reference", "unified", "cascade", "paged"});
                if (threads < 1) throw InputError(fmt::format("--threads {}: must be at least 1", threads));
                if (threads > 1 && row.backend != AttentionBackend::paged)
                  throw InputError(fmt::format("--threads {}: backend {} runs on one thread; paged runs on several",
                                               threads, backend));
                row.options.paged.threads = threads;
                if (!options.simd.empty())
                  row.options.paged.simd =
                      named("--simd", options.simd, parse_simd_path(options.simd), {"plain", "avx2", "avx512"});
                if (options.bias == "full") row.options.unified.shared_bias = SharedBiasMode::full;
                row.min_seconds = options.min_seconds;
                rows.push_back(row);
              }
  }
  return rows;
}

int run_bench(const BenchOptions& options) {
  const std::vector<AttentionBenchSpec> specs = rows_of(options);
  ResidentBudget budget;
  std::vector<BenchedAttention> rows;
  {
    Progress progress(options.output.quiet);
    for (const AttentionBenchSpec& spec : specs) {
      progress.update("bench", fmt::format("{} {}", to_string(spec.backend), to_string(spec.workload.batch)),
                      static_cast<int>(rows.size()), static_cast<int>(specs.size()));
      rows.push_back({spec, bench_attention(spec, budget)});
    }
  }
  write_output(render_bench(rows, options.output.format(), options.output.style()));
  const bool all_correct =
      std::all_of(rows.begin(), rows.end(), [](const BenchedAttention& row) { return row.result.is_correct(); });
  return all_correct ? exit_fine : exit_fault_found;
}

}  // namespace

void add_bench_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "bench", "Time attention backends on a layout, beside what this machine can do; the result is checked first");
  const auto options = std::make_shared<BenchOptions>();
  add_scenario_options(*command, options->scenario);
  const auto list = [&](const char* flag, auto& values, const char* help, const char* type,
                        const CLI::Validator& each) { add_list(*command, flag, values, help, type, each); };
  list("--batch", options->batches,
       "batches as text (2q1k_32q1s1k: 2 prefills of 1024 tokens, 32 decodes at 1024) or by name (default: 32q1s4k)",
       "BATCH,...", any_text());
  list("--backend", options->backends, "reference, unified, cascade or paged (default: paged)", "NAME,...", any_text());
  list("--block-size", options->block_sizes, "tokens of a block (default: the plan's, 528)", "TOKENS,...",
       token_count());
  list("--order", options->orders, "nhd, hnd or head_major (default: the plan's, nhd)", "ORDER,...", any_text());
  list("--dtype", options->dtypes, "element type of the cache (default: the plan's, bf16)", "DTYPE,...",
       any_text());
  list("--threads", options->threads, "threads of backend paged (default: 1)", "N,...",
       whole_number(1, 4096));
  command->add_option("--kernel-block-size", options->kernel_block, "tokens of a kernel block, divides the block")
      ->transform(token_count())
      ->type_name("TOKENS");
  command->add_option("--form", options->form, "backend form: paged, flex, cpu, diff_kv, kv_first …")
      ->type_name("FORM");
  command->add_option("--query-heads", options->query_heads, "query heads of a rank (default: the plan's, 32)")
      ->type_name("N");
  command->add_option("--kv-heads", options->kv_heads, "KV heads of a rank (default: the plan's, 8)")->type_name("N");
  command->add_option("--head-size", options->head_size, "channels of a head (default: the plan's, 128)")
      ->type_name("N");
  command->add_option("--shared-prefix", options->shared_prefix, "tokens that all requests have in common (default: 0)")
      ->transform(token_count())
      ->type_name("TOKENS");
  command->add_option("--window", options->window, "sliding window (default: none)")
      ->transform(token_count())
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("TOKENS");
  command->add_option("--bias", options->bias, "bias of unified: full or chunked (default: chunked)")
      ->check(one_of({"full", "chunked"}))
      ->type_name("MODE");
  command->add_option("--simd", options->simd, "instructions of paged: plain, avx2 or avx512 (default: the fastest)")
      ->type_name("PATH");
  command->add_option("--min-time", options->min_seconds, "seconds that a row runs at least (default: 0.5)")
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->type_name("S");
  add_output_options(*command, options->output);
  command->footer(
      "Lists make a product. With a scenario or --model the layer is the one of its\n"
      "plan, for every pack size.\n"
      "\nExamples:\n"
      "  hybridkv bench --batch 32q1s4k --pack 1,8 --order nhd,hnd\n"
      "  hybridkv bench --batch q2k --dtype fp32 --threads 1,2\n"
      "  hybridkv bench --batch 32q1s4160 --shared-prefix 4k --block-size 64 \\\n"
      "      --backend unified,paged --bias full\n"
      "  hybridkv bench qwen3.5-397b --pack 1,3 --batch 2q1k_32q1s1k --format csv");
  command->callback([options, &action] { action = [options] { return run_bench(*options); }; });
}

}  // namespace hybridkv
