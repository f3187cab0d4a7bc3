#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "ask/replay/sweep.h"
#include "base/build_info.h"
#include "base/error.h"
#include "base/ordered_work.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/field.h"
#include "report/human.h"
#include "report/replay/sweep_file.h"
#include "report/replay/sweep_table.h"
#include "scenarios/model_reader.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

namespace {

struct SweepOptions {
  ScenarioOptions scenario;
  SimpleTraffic traffic;
  std::string output;
  std::string format;
  std::vector<std::string> zips;
  std::vector<std::string> columns;
  std::string pivot;
  std::string shard = "1/1";
  std::int64_t threads = 0;
  bool resume = false;
  bool verify = false;
  bool simulate = false;
  bool dry_run = false;
  bool quiet = false;
};

/// A table is for people, and all of it is held.
constexpr std::int64_t most_points_of_table = 10'000;

/// The reader of standard output has gone; what is left to do would be for nobody.
struct NobodyReads {};

void write_rows_to_stdout(const std::string& text) {
  if (!write_output_piece(text)) throw NobodyReads();
}

/// The form for people that is asked for; nothing where rows are.
std::optional<Format> people_format(const SweepOptions& options) {
  const std::optional<Format> format = parse_format(options.format);
  const bool is_for_people = format == Format::table || format == Format::markdown;
  if (is_for_people) return format;
  if (options.columns.empty() && options.pivot.empty()) return std::nullopt;
  const std::string flag = options.pivot.empty() ? "--columns" : "--pivot " + options.pivot;
  if (!options.format.empty())
    throw InputError(fmt::format("{}: rows of {} have all columns; take --format table or markdown", flag,
                                 options.format));
  return Format::table;
}

SweepFormat format_of(const SweepOptions& options) {
  if (const auto format = parse_sweep_format(options.format)) return *format;
  return options.output.ends_with(".csv") ? SweepFormat::csv : SweepFormat::jsonl;
}

SweepQuestion question_of(const SweepOptions& options) {
  return {.verify = options.verify, .simulate = options.simulate};
}

SweepRows rows_of(const SweepOptions& options, const ScenarioSweep& sweep) {
  SweepRowSpec spec{.axes = {}, .verified = options.verify, .simulated = options.simulate,
                    .timed = sweep_has_clock(sweep, question_of(options)), .format = format_of(options),
                    .num_points = sweep.num_points(),
                    .identity = fmt::format("hybridkv {}\n{}", program_version(),
                                            sweep_identity(sweep, question_of(options)))};
  for (const SweepAxis& axis : sweep.axes()) spec.axes.push_back(axis.path);
  return SweepRows(std::move(spec));
}

/// The first values of an axis, and its last one.
std::string values_text(const SweepAxis& axis) {
  constexpr std::size_t most_shown = 6;
  std::string values;
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (axis.values.size() > most_shown && i == most_shown - 2) return values + ", …, " + axis.values.back();
    values += (values.empty() ? "" : ", ") + (axis.values[i].empty() ? "default" : axis.values[i]);
  }
  return values;
}

/// What would be swept.
std::string axes_text(const ScenarioSweep& sweep, const Style& style) {
  using Row = SweepAxis;
  const Table table = table_of<Row>({{{"axis", "axis"}, &Row::path},
                                     {{"values", "values"}, [](const Row& axis) { return std::ssize(axis.values); }},
                                     {{"of", "of them"}, values_text}},
                                    sweep.axes());
  return (sweep.axes().empty() ? std::string() : render_text(table, style) + "\n") +
         human_plural(sweep.num_points(), "point") + "\n";
}

std::int64_t num_threads(const SweepOptions& options) {
  if (options.verify) return 1;  // a verification uses all cores itself
  if (options.threads > 0) return options.threads;
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

/// The rows of some points.
struct SweepPiece {
  std::string rows;
  PointCounts counts;
};

SweepPiece piece_of(const std::vector<SweepPoint>& points, const SweepRows& rows, const AxisCells& cells) {
  SweepPiece piece;
  for (const SweepPoint& point : points) {
    piece.rows += rows.row(point, cells.at(point.point));
    piece.counts.add(point.status);
  }
  return piece;
}

/// The points of a shard from one position to another one (excluded).
std::vector<std::int64_t> points_of(const Shard& shard, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> points;
  for (std::int64_t index = begin; index < end; ++index) points.push_back(shard.point(index));
  return points;
}

/// Answers the points of the shard from the `first` on, on as many threads as are asked for: `make` what is wanted of
/// some of them, `take` it in their order.
template <class Piece>
void answer_in_order(const SweepOptions& options, const ScenarioSweep& sweep, const Shard& shard, std::int64_t first,
                     const std::function<Piece(const std::vector<SweepPoint>&)>& make,
                     const std::function<void(Piece)>& take) {
  const std::int64_t num_points = shard.num_points(sweep.num_points());
  const std::int64_t remaining = num_points - first;
  const std::int64_t threads = num_threads(options);
  const std::int64_t piece = sweep_piece_size(question_of(options), remaining, threads);
  do_in_order(OrderedWork<Piece>{
      .num_pieces = (remaining + piece - 1) / piece,
      .threads = threads,
      .make_worker =
          [&] {
            const auto worker = std::make_shared<SweepWorker>(sweep, question_of(options));
            return [&, worker](std::int64_t number) {
              const std::int64_t begin = first + number * piece;
              return make(worker->answer(points_of(shard, begin, std::min(begin + piece, num_points))));
            };
          },
      .take = take});
}

/// Makes all rows of the shard that are not there yet; returns what became of all its points.
PointCounts sweep_shard(const SweepOptions& options, const ScenarioSweep& sweep, const SweepRows& rows,
                        const Shard& shard, RowFile* file) {
  FinishedRows finished;
  if (file && options.resume) finished = finished_rows(*file, options.output, rows, shard);
  if (file) file->continue_at(finished.bytes, finished.torn_line);
  const auto write = [&](const std::string& text) { file ? file->append(text) : write_rows_to_stdout(text); };
  if (finished.bytes == 0) write(rows.heading());

  const AxisCells cells(sweep);
  PointCounts counts = finished.counts;
  Progress progress(options.quiet);
  const std::int64_t remaining = shard.num_points(sweep.num_points()) - finished.rows;
  answer_in_order<SweepPiece>(
      options, sweep, shard, finished.rows,
      [&](const std::vector<SweepPoint>& points) { return piece_of(points, rows, cells); },
      [&](const SweepPiece& made) {
        write(made.rows);
        counts += made.counts;
        progress.bar("sweep", counts.total() - finished.rows, remaining, "points");
      });
  if (file) file->finish();
  return counts;
}

/// Sweeps the shard into one table, which is written at the end.
PointCounts sweep_into_table(const SweepOptions& options, const ScenarioSweep& sweep, const SweepRows& rows,
                             const Shard& shard, Format format) {
  const std::int64_t num_points = shard.num_points(sweep.num_points());
  if (num_points > most_points_of_table)
    throw InputError(fmt::format("{} are too many for a table, which takes {}; take --format csv or jsonl",
                                 human_plural(num_points, "point"), human_count(most_points_of_table)));
  if (options.resume) throw InputError("--resume continues rows; a table is made at once, leave it out");
  if (!options.output.empty())
    refuse_overwriting(options.output, {Overwrite::no, {options.scenario.scenario, config_in(options.scenario.model),
                                                        sweep_trace_file(sweep, question_of(options))}});
  SweepTable table(rows, {options.columns, options.pivot});
  const AxisCells cells(sweep);
  PointCounts counts;
  Progress progress(options.quiet);
  answer_in_order<std::vector<SweepPoint>>(
      options, sweep, shard, 0, [](const std::vector<SweepPoint>& points) { return points; },
      [&](const std::vector<SweepPoint>& points) {
        for (const SweepPoint& point : points) {
          table.add(point, cells.at(point.point));
          counts.add(point.status);
        }
        progress.bar("sweep", counts.total(), num_points, "points");
      });
  const bool is_shown = options.output.empty();
  const std::string text = render_people(table.document(), format, is_shown ? OutputOptions().style() : Style());
  if (is_shown) write_output(text);
  else write_file(options.output, text);
  return counts;
}

int exit_code_of(const SweepOptions& options, const PointCounts& counts) {
  if (!options.quiet) write_message("hybridkv: " + to_string(counts));
  return counts.fault > 0 ? exit_fault_found : exit_fine;
}

/// A pivot sets the last axis across, so that each of its values meets all of the others.
void refuse_zipped_pivot(const SweepOptions& options, const ScenarioSweep& sweep) {
  if (options.pivot.empty() || sweep.axes().empty()) return;
  const std::string& last = sweep.axes().back().path;
  for (const ZippedKeys& zip : zipped_keys(options.zips))
    for (const std::string& key : zip)
      if (last == key || last.ends_with("." + key))
        throw InputError(fmt::format("--pivot {}: sets {} across, which --zip {} ties to others; take --columns",
                                     options.pivot, last, fmt::join(zip, ",")));
}

int run_sweep_command(SweepOptions options) {
  apply_simple_traffic(options.scenario, options.traffic);
  if (!options.scenario.engines.empty()) options.scenario.flags.push_back(varied_releases(options.scenario.engines));
  const Shard shard = parse_shard(options.shard);
  if (options.output == "-") options.output.clear();
  if (options.resume && options.output.empty()) throw InputError("--resume continues a file; name it with -o FILE");
  const ScenarioSweep sweep(scenario_file(options.scenario), zipped_keys(options.zips));
  show_notes(sweep.notes());
  refuse_zipped_pivot(options, sweep);
  if (options.dry_run) {
    write_output(axes_text(sweep, OutputOptions().style()));
    return exit_fine;
  }
  const SweepRows rows = rows_of(options, sweep);
  if (const std::optional<Format> format = people_format(options))
    return exit_code_of(options, sweep_into_table(options, sweep, rows, shard, *format));
  std::unique_ptr<RowFile> file;
  if (!options.output.empty()) {
    // A file with rows is looked at below; those of the same sweep are continued.
    const std::vector<std::string> inputs{options.scenario.scenario, config_in(options.scenario.model),
                                          sweep_trace_file(sweep, question_of(options))};
    refuse_overwriting(options.output, {Overwrite::forced, inputs});
    file = std::make_unique<RowFile>(options.output);
    if (!options.resume && !file->is_empty())
      throw InputError(fmt::format("-o {}: holds rows already; continue them with --resume, or remove the file",
                                   options.output));
  }
  PointCounts counts;
  try {
    counts = sweep_shard(options, sweep, rows, shard, file.get());
  } catch (const NobodyReads&) {
    return exit_fine;
  }
  return exit_code_of(options, counts);
}

void add_sweep_options(CLI::App& command, SweepOptions& options) {
  command
      .add_option("--output,-o", options.output, "file for the rows, written as they come (default: standard output)")
      ->type_name("FILE");
  command
      .add_option("--format,-f", options.format,
                  "jsonl or csv, a row a point as it comes (default: csv where FILE ends in .csv, else jsonl); table "
                  "or markdown, all of them at the end, for people")
      ->check(one_of({"jsonl", "csv", "table", "markdown"}))
      ->type_name("FORMAT");
  add_zip_option(command, options.zips);
  command
      .add_option("--columns", options.columns,
                  "columns of a table, by their names in csv (default: block, bytes of a request, how many fit, hits)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--pivot", options.pivot,
                  "one column as a table: values of the last axis across, those of the others down")
      ->excludes("--columns")
      ->type_name("COLUMN");
  command.add_flag("--resume", options.resume, "continue FILE where a killed run of the same sweep stopped");
  command.add_option("--shard", options.shard, "only every N-th point, from the I-th on; `hybridkv merge` joins them")
      ->type_name("I/N");
  command.add_flag("--verify", options.verify, "also verify every point, as `hybridkv verify` does");
  command.add_flag("--simulate", options.simulate,
                   "also replay the trace of the section simulate through every point, as `hybridkv simulate` does");
  add_trace_options(command, options.scenario, options.traffic);
  add_key(command, options.scenario, "--requests", "N",
          "only the first requests of the trace (default: all, of a made-up one 10000)");
  add_policy_options(command, options.scenario);
  add_driver_options(command, options.scenario);
  command.add_option("--threads", options.threads, "default: all cores; the rows do not depend on it")
      ->check(whole_number(0, 4096))
      ->type_name("N");
  command.add_flag("--dry-run", options.dry_run, "only say what would be swept, and how many points that is");
  command.add_flag("--quiet,-q", options.quiet, "no progress and no summary on standard error");
}

}  // namespace

void add_sweep_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "sweep", "Plan, verify and simulate every combination of values: each scenario value may be a list or a range");
  const auto options = std::make_shared<SweepOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_sweep_options(*command, *options);
  command->footer(
      "Values: [1, 2, 4], 1..16, 16..256 step 16, 16G..80G step 16G, and lists of\n"
      "these, of any key; pack sizes and max_model_len too. null in a list is the\n"
      "default. Where a value is a list (kernel_block_sizes): lists of lists.\n"
      "Each point is a row: sweep, points, point, status (ok, impossible or fault), its\n"
      "values, the reason where it is not ok, and the numbers of plan and simulate by\n"
      "the names of their --format csv. `hybridkv merge` puts shards together.\n"
      "\nExamples:\n"
      "  hybridkv sweep qwen3.5-397b --pack 1..16 --tp 1,2,4 -o packs.csv\n"
      "  hybridkv sweep example --mode none,align,all --model Qwen3.5-4B,Qwen3.5-9B\n"
      "  hybridkv sweep qwen3.5-397b --simulate --requests 200 -o hits.jsonl \\\n"
      "      --set simulate.retention_interval_tokens='[null, 0, 8448]'\n"
      "  hybridkv sweep qwen3.5-397b --simulate --engines all --memory 20G,40G,80G \\\n"
      "      --requests 500 --pivot hit_rate\n"
      "  hybridkv sweep example --tp 1,2,4 --memory 80G,40G,20G \\\n"
      "      --zip tensor_parallel,memory                    # three points, not nine\n"
      "  hybridkv sweep my.yaml -o rows.jsonl --resume       # go on after a kill\n"
      "  hybridkv sweep my.yaml --shard 2/8 -o rows-2.jsonl  # second of eight machines");
  command->callback([options, &action] { action = [options] { return run_sweep_command(*options); }; });
}

}  // namespace hybridkv
