#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "layout/error.h"
#include "report/simulate_report.h"
#include "simulator/plan_geometry.h"
#include "simulator/synthetic_trace.h"
#include "simulator/trace_file.h"

namespace hybridkv {

namespace {

struct SimulateOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  // A cache of its own, without a plan.
  std::vector<std::int64_t> block_sizes;
  std::vector<std::int64_t> num_blocks;
  std::vector<std::string> modes;
  std::int64_t attention_groups = 1;
  std::int64_t state_groups = 0;
  // For both.
  std::optional<std::int64_t> max_batched_tokens;
  std::optional<std::int64_t> retention;
  std::optional<std::int64_t> match_unit;
  std::optional<std::int64_t> max_num_seqs;
  double watermark = 0;
  bool no_branch_point = false;
  // Trace and driver.
  std::string trace;
  std::string trace_form;
  std::optional<std::int64_t> requests;
  bool skip_bad_lines = false;
  std::uint64_t seed = 1;
  std::string driver = "one-at-a-time";
  std::int64_t in_flight = 64;
  CostModel cost{.per_prefill_token = 5e-5, .per_decode_step = 0.02, .per_copied_state = 1e-5};
  bool upper_bounds = false;
  std::string per_request;
};

bool is_bare(const SimulateOptions& options) { return !options.block_sizes.empty() || !options.num_blocks.empty(); }

void add_settings(CacheGeometry& geometry, const SimulateOptions& options) {
  geometry.retention_interval_tokens = options.retention;
  geometry.match_unit_tokens = options.match_unit;
  geometry.watermark = options.watermark;
  geometry.branch_point = !options.no_branch_point;
  if (options.max_num_seqs) geometry.max_num_seqs = *options.max_num_seqs;
  if (options.max_batched_tokens) geometry.max_num_batched_tokens = *options.max_batched_tokens;
}

/// The product of the listed sizes and modes.
std::vector<CacheGeometry> bare_geometries(const SimulateOptions& options) {
  if (options.block_sizes.empty() || options.num_blocks.empty())
    throw InputError("--block-size and --num-blocks describe a cache together; give both, or a scenario");
  if (!options.scenario.scenario.empty() || !options.scenario.model.empty())
    throw InputError("--block-size describes a cache without a plan; leave out the scenario and --model");
  std::vector<std::string> modes = options.modes;
  if (modes.empty()) modes = {"align"};
  std::vector<CacheGeometry> geometries;
  for (const std::string& name : modes) {
    const auto mode = parse_cache_mode(name);
    if (!mode) throw InputError(fmt::format("--mode {}: no such cache mode; take none, align or all", name));
    for (const std::int64_t block : options.block_sizes)
      for (const std::int64_t blocks : options.num_blocks) {
        CacheGeometry geometry{.block_size_tokens = block, .num_blocks = blocks,
                               .attention_groups = options.attention_groups, .state_groups = options.state_groups,
                               .mode = *mode};
        add_settings(geometry, options);
        geometries.push_back(geometry);
      }
  }
  return geometries;
}

std::vector<CacheGeometry> planned_geometries(const SimulateOptions& options) {
  if (!options.modes.empty()) throw InputError("--mode belongs to --block-size; a scenario has engine.cache_mode");
  const Scenario scenario = read_scenario(options.scenario);
  std::vector<CacheGeometry> geometries;
  for (const CachePlan& plan : plan_scenario(scenario, scenario.pack_sizes).plans) {
    CacheGeometry geometry;
    try {
      geometry = geometry_of(plan, scenario.engine);
    } catch (const SpecError& error) {
      throw located(error, scenario);
    }
    geometry.name = fmt::format("N = {}", plan.attention_pack_size);
    add_settings(geometry, options);
    geometries.push_back(geometry);
  }
  return geometries;
}

DriverSpec driver_of(const SimulateOptions& options) {
  DriverSpec driver{.in_flight = options.in_flight, .cost = options.cost};
  if (options.driver == "closed-loop") driver.kind = DriverKind::closed_loop;
  if (options.driver == "open-loop") driver.kind = DriverKind::open_loop;
  return driver;
}

/// Rows of requests as they end, each written whole.
class RequestRows {
 public:
  explicit RequestRows(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) throw InputError(fmt::format("--per-request {}: cannot be written; is there such a folder?", path));
    std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
    write(request_csv_header);
  }
  RequestRows(const RequestRows&) = delete;
  RequestRows& operator=(const RequestRows&) = delete;
  ~RequestRows() { std::fclose(file_); }

  void write(std::string_view row) {
    if (std::fprintf(file_, "%.*s\n", static_cast<int>(row.size()), row.data()) < 0)
      throw ResourceError(path_ + ": cannot be written; is the disk full?");
  }

 private:
  std::string path_;
  std::FILE* file_;
};

std::unique_ptr<TraceSource> open_trace(const SimulateOptions& options, SimulateReport& report) {
  if (options.trace.empty()) {
    SyntheticTraceSpec spec;
    spec.seed = options.seed;
    if (options.requests) spec.num_requests = *options.requests;
    report.trace = fmt::format("a made-up trace of chats, agent loops and questions over documents, seed {}", spec.seed);
    return std::make_unique<SyntheticTrace>(spec);
  }
  TraceFileSpec spec{.path = options.trace, .skip_bad_lines = options.skip_bad_lines, .max_requests = options.requests};
  if (!options.trace_form.empty()) spec.form = parse_trace_form(options.trace_form);
  report.trace = options.trace.substr(options.trace.find_last_of('/') + 1);
  return std::make_unique<TraceFile>(spec);
}

int run_simulate(const SimulateOptions& options) {
  const std::vector<CacheGeometry> geometries = is_bare(options) ? bare_geometries(options) : planned_geometries(options);
  if (!options.per_request.empty() && geometries.size() > 1)
    throw InputError(fmt::format("--per-request writes the requests of one cache, here are {}", geometries.size()));
  SimulateReport report;
  report.driver = driver_of(options);
  SweepSpec sweep;
  sweep.upper_bounds = options.upper_bounds;
  for (const CacheGeometry& geometry : geometries) {
    validate(geometry);
    sweep.simulations.push_back({.geometry = geometry, .driver = report.driver});
  }
  const std::unique_ptr<TraceSource> trace = open_trace(options, report);
  std::unique_ptr<RequestRows> rows;
  if (!options.per_request.empty()) {
    rows = std::make_unique<RequestRows>(options.per_request);
    sweep.simulations.front().on_record = [&](const RequestRecord& record) { rows->write(request_csv_row(record)); };
  }
  {
    Progress progress(options.output.quiet);
    sweep.on_progress = [&](const SweepProgress& at) {
      const auto remaining = at.remaining_seconds();
      progress.update("simulate",
                      fmt::format("{} requests, {:.0f} a second{}", at.requests, at.requests_per_second(),
                                  remaining ? fmt::format(", {:.0f} s to go", *remaining) : std::string()),
                      static_cast<int>(100 * at.fraction), 100);
    };
    report.result = run_sweep(*trace, sweep);
  }
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) report.bad_lines = file->bad_lines();
  write_output(render_simulate(report, options.output.format(), options.output.style()));
  return exit_fine;
}

void add_cache_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--block-size", options.block_sizes, "a cache without a plan: tokens of a block, one or a list")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TOKENS");
  command.add_option("--num-blocks", options.num_blocks, "blocks of its pool, the null block included, one or a list")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("BLOCKS");
  command.add_option("--attention-groups", options.attention_groups, "full-attention groups (default: 1)")
      ->type_name("N");
  command.add_option("--state-groups", options.state_groups, "recurrent groups (default: 0)")->type_name("N");
  command.add_option("--mode", options.modes, "none, align (the default) or all, one or a list")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("MODE");
  command.add_option("--max-batched-tokens", options.max_batched_tokens, "most tokens of one step (default: 8192)")
      ->type_name("TOKENS");
  command.add_option("--max-num-seqs", options.max_num_seqs, "most running requests (default: 256)")->type_name("N");
  command.add_option("--watermark", options.watermark, "share of the pool kept free at admission (default: 0)")
      ->type_name("SHARE");
  command.add_option("--retention", options.retention, "keep checkpoints at multiples of this, 0 only the last one")
      ->type_name("TOKENS");
  command.add_option("--match-unit", options.match_unit, "find prefixes at multiples of this, a divisor of the block")
      ->type_name("TOKENS");
  command.add_flag("--no-branch-point", options.no_branch_point, "no checkpoint where prompts part");
}

void add_trace_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--trace", options.trace, "Mooncake or Qwen-Bailian form, also .gz or .zst (default: made up)")
      ->type_name("FILE");
  command.add_option("--trace-form", options.trace_form, "mooncake or qwen (default: by the first request)")
      ->check(CLI::IsMember({"mooncake", "qwen"}).description(""))
      ->type_name("FORM");
  command.add_option("--requests", options.requests, "only the first ones")->type_name("N");
  command.add_option("--seed", options.seed, "of the made-up trace (default: 1)")->type_name("SEED");
  command.add_flag("--skip-bad-lines", options.skip_bad_lines, "count damaged lines instead of stopping at the first");
  command
      .add_option("--driver", options.driver,
                  "one-at-a-time (the default), closed-loop (--in-flight) or open-loop (by timestamps)")
      ->check(CLI::IsMember({"one-at-a-time", "closed-loop", "open-loop"}).description(""))
      ->type_name("DRIVER");
  command.add_option("--in-flight", options.in_flight, "closed loop: requests in flight (default: 64)")->type_name("K");
  command.add_option("--prefill-seconds", options.cost.per_prefill_token, "open loop: a prefill token (default: 5e-5)")
      ->type_name("S");
  command.add_option("--decode-seconds", options.cost.per_decode_step, "open loop: a decode step (default: 0.02)")
      ->type_name("S");
  command.add_option("--copy-seconds", options.cost.per_copied_state, "open loop: a copied state (default: 1e-5)")
      ->type_name("S");
  command.add_flag("--upper-bounds", options.upper_bounds, "also with an unlimited pool, and matching token by token");
  command.add_option("--per-request", options.per_request, "write a line of CSV for every request, as it ends")
      ->type_name("FILE");
}

}  // namespace

void add_simulate_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Replay a request trace: how much of the traffic hits, how many requests fit");
  const auto options = std::make_shared<SimulateOptions>();
  add_scenario_options(*command, options->scenario);
  add_cache_options(*command, *options);
  add_trace_options(*command, *options);
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  hybridkv simulate qwen3.5-397b --pack 1,3,5\n"
      "  hybridkv simulate qwen3.5-397b --pack 5 --trace conversation.jsonl --upper-bounds\n"
      "  hybridkv simulate qwen3.5-397b --driver closed-loop --in-flight 32\n"
      "  hybridkv simulate --block-size 272,528,1056 --num-blocks 20000 --state-groups 1 --trace conversation.jsonl\n"
      "  hybridkv simulate --block-size 528 --num-blocks 20000 --state-groups 1 --per-request requests.csv");
  command->callback([options, &action] { action = [options] { return run_simulate(*options); }; });
}

}  // namespace hybridkv
