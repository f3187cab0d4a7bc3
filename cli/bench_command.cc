#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "ask/bench.h"
#include "attention/named_batch.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "report/proof/bench_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct BenchOptions {
  ScenarioOptions scenario;
  std::vector<std::string> batches{"32q1s4k"};
  std::vector<std::string> backends{"paged"};
  std::vector<std::string> orders, dtypes;
  std::vector<std::int64_t> block_sizes, threads{1};
  std::string form, bias, simd, weights;
  std::optional<std::int64_t> kernel_block, query_heads, kv_heads, head_size;
  std::int64_t shared_prefix = 0, window = 0;
  double min_seconds = 0.5;
  OutputOptions output;
};

/// The value of that name, or an error with what there is. `table`: of all names that are told.
template <class Value, std::size_t size>
Value named(const char* flag, const std::string& text, std::optional<Value> value,
            const NamedValues<Value, size>& table) {
  if (value) return *value;
  const std::vector<std::string> all = names_of(table);
  throw InputError(fmt::format("{} {}: no such value; take one of {}{}", flag, text, fmt::join(all, ", "),
                               did_you_mean(text, all)));
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
  if (!scenario.scenario.empty() || !scenario.model.empty()) return planned_layers(read_scenario(scenario));
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
  std::vector<AttentionWorkloadSpec> layers;
  for (const std::int64_t pack : packs) {
    AttentionWorkloadSpec layer;
    layer.pack_size = pack;
    layers.push_back(layer);
  }
  return layers;
}

/// Each of these words as the value that it names.
template <class Value, std::size_t size>
std::vector<Value> all_named(const char* flag, const std::vector<std::string>& texts,
                             std::optional<Value> (*parse)(std::string_view), const NamedValues<Value, size>& table) {
  std::vector<Value> values;
  for (const std::string& text : texts) values.push_back(named(flag, text, parse(text), table));
  return values;
}

void check_heads(const BenchOptions& options) {
  for (const auto& [value, flag] : {std::pair{options.query_heads, "--query-heads"}, {options.kv_heads, "--kv-heads"},
                                    {options.head_size, "--head-size"}})
    if (value && (*value < 1 || *value > largest_dimension))
      throw InputError(fmt::format("{} {}: must be from 1 to {}", flag, *value, largest_dimension));
}

void check_threads(const BenchQuestion& question) {
  for (const AttentionBackend backend : question.backends)
    for (const std::int64_t threads : question.threads) {
      if (threads < 1) throw InputError(fmt::format("--threads {}: must be at least 1", threads));
      if (threads > 1 && backend == AttentionBackend::reference)
        throw InputError(fmt::format("--threads {}: backend {} runs on one thread; the others run on several", threads,
                                     to_string(backend)));
    }
}

BenchQuestion question_of(const BenchOptions& options) {
  BenchQuestion question{.layers = layers_of(options),
                         .block_sizes = options.block_sizes,
                         .threads = options.threads,
                         .kernel_block = options.kernel_block,
                         .query_heads = options.query_heads,
                         .kv_heads = options.kv_heads,
                         .head_size = options.head_size,
                         .shared_prefix_tokens = options.shared_prefix,
                         .window_tokens = options.window,
                         .round_weights = options.weights != "exact",
                         .full_bias = options.bias == "full",
                         .min_seconds = options.min_seconds};
  if (!options.form.empty())
    question.form = named("--form", options.form, parse_backend_form(options.form), backend_form_names);
  check_heads(options);
  for (const std::string& batch : options.batches) question.batches.push_back(batch_of(batch));
  question.orders = all_named("--order", options.orders, parse_physical_order, physical_order_names);
  question.dtypes = all_named("--dtype", options.dtypes, parse_dtype, dtype_names);
  question.backends = all_named("--backend", options.backends, parse_attention_backend, attention_backend_names);
  check_threads(question);
  if (!options.simd.empty())
    question.simd = named("--simd", options.simd, parse_simd_path(options.simd), simd_path_names);
  return question;
}

int run_bench(const BenchOptions& options) {
  const std::vector<AttentionBenchSpec> specs = bench_rows(question_of(options));
  BenchAnswer answer;
  {
    Progress progress(options.output.quiet);
    answer = bench(specs, [&](const AttentionBenchSpec& spec, std::size_t row) {
      progress.update("bench", fmt::format("{} {}", to_string(spec.backend), to_string(spec.workload.batch)),
                      static_cast<int>(row), static_cast<int>(specs.size()));
    });
  }
  write_output(render_bench(answer, options.output.format(), options.output.style()));
  const bool all_correct =
      std::all_of(answer.rows.begin(), answer.rows.end(), [](const auto& row) { return row.result.is_correct(); });
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
  list("--backend", options->backends, "reference, unified, cascade or paged (default: paged)", "NAME,...",
       offers({names_of(attention_backend_names)}));
  list("--block-size", options->block_sizes, "tokens of a block (default: the plan's, 528)", "TOKENS,...",
       token_count());
  list("--order", options->orders, "nhd, hnd or head_major (default: the plan's, nhd)", "ORDER,...",
       offers({names_of(physical_order_names)}));
  list("--dtype", options->dtypes, "element type of the cache (default: the plan's, bf16)", "DTYPE,...",
       offers({names_of(dtype_names)}));
  list("--threads", options->threads, "threads of every backend but reference (default: 1)", "N,...",
       whole_number(1, 4096));
  command->add_option("--kernel-block-size", options->kernel_block, "tokens of a kernel block, divides the block")
      ->transform(token_count())
      ->type_name("TOKENS");
  command->add_option("--form", options->form, "backend form: paged, flex, cpu, diff_kv, kv_first …")
      ->check(offers({names_of(backend_form_names)}))
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
  command->add_option("--simd", options->simd,
                      "instructions of paged: plain, avx2, avx512, avx512bf16 or amx (default: the fastest)")
      ->check(offers({names_of(simd_path_names)}))
      ->type_name("PATH");
  command->add_option("--weights", options->weights,
                      "rounded: to bf16 where paged multiplies with V of bf16 in pairs or tiles, as engines do "
                      "(default); exact")
      ->check(one_of({"rounded", "exact"}))
      ->type_name("MODE");
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
