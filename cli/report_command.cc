#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "ask/compare/compare.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/plot/engine_curves.h"
#include "ask/plot/page_strip.h"
#include "ask/plot/plot_values.h"
#include "ask/verify.h"
#include "base/build_info.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "cli/commands.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/kernel_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report_parts.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "report/engines_report.h"
#include "report/html.h"
#include "report/plan/scenario_report.h"
#include "report/plot/make_plots.h"
#include "report/plot/page_map_plots.h"
#include "report/plot/plot_engines.h"
#include "report/plot/plot_files.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  ScenarioOptions scenario;
  SimpleTraffic traffic;
  std::string folder;
  std::vector<std::string> kernels;  ///< files of their cards
  std::vector<KernelCard> cards;     ///< the same, read
  bool no_verify = false;
  bool quiet = false;
  Overwrite overwrite = Overwrite::no;
};

/// All plots of a scenario, those of single packs apart; kinds that it cannot have are left out and said so.
struct ReportPlots {
  std::vector<Plot> of_all;
  std::vector<Plot> of_packs;
};

ReportPlots plots_of(const PlotInputs& inputs, Progress& progress) {
  ReportPlots plots;
  const auto kinds = all_plot_kinds();
  for (const PlotKindInfo& info : kinds) {
    progress.update("report", info.name, static_cast<int>(&info - kinds.data()), static_cast<int>(kinds.size()));
    try {
      auto made = make_plots(info.kind, inputs, plot_values(info.kind, inputs));
      const bool of_packs = !made.empty() && made.front().pack.has_value();
      auto& list = of_packs ? plots.of_packs : plots.of_all;
      list.insert(list.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    } catch (const InputError& error) {
      write_message(fmt::format("hybridkv: {} is left out: {}", info.name, error.what()));
    }
  }
  return plots;
}

bool is_shown_first(const FirstScreen& first, const Picture& picture) {
  return std::any_of(first.pictures.begin(), first.pictures.end(),
                     [&](const Picture& one) { return one.svg == picture.svg; });
}

/// Draws the plots and returns what was drawn; `missing` gets the message where a program is missing.
std::vector<Picture> draw(const std::vector<Plot>& plots, const fs::path& folder, const Replaces& replaces,
                          std::string& missing) {
  DrawnPlots drawn = draw_plots(plots, {}, folder / "plots", replaces);
  if (!drawn.missing.empty()) missing = drawn.missing;
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < plots.size(); ++i)
    pictures.push_back({fmt::format("plots/{}.svg", plots[i].name), plots[i].title, plots[i].caption,
                        std::move(drawn.pictures[i])});
  return pictures;
}

/// The page map of the pick of the first screen; nothing where the engine makes no views.
std::vector<Picture> draw_pick(const ScenarioReportInputs& report, const fs::path& folder, const Replaces& replaces,
                               std::string& missing) {
  const PlanSet& all = report.planned.set;
  PlanSet one{all.model, all.tensor_parallel, all.strategy, {}};
  one.plans.push_back(report.first.memory->plan);
  try {
    std::vector<Plot> plots = plot_page_maps(one, {.plans = {page_strips(one.plans.front())}});
    plots.front().name = "page-map-pick";
    return draw(plots, folder, replaces, missing);
  } catch (const InputError&) {
    return {};
  }
}

void verify(ScenarioReportInputs& report, const Scenario& scenario, const ReportOptions& options, Progress& progress) {
  if (options.no_verify) {
    report.why_not_verified = "Verification was not asked for (--no-verify); `hybridkv verify` below does it.";
    return;
  }
  PlanSet plans = plan_scenario(scenario, verified_packs(scenario, !options.scenario.pack.empty()));
  try {
    const auto show = [&](const CachePlan& plan, const std::optional<Fault>&, std::string_view step, int done,
                          int total) {
      progress.update(fmt::format("verify N = {}", plan.attention_pack_size), step, done, total);
    };
    report.verified = verify_plans(scenario, std::move(plans), {}, show).reports;
  } catch (const Error& error) {
    report.why_not_verified = fmt::format("Verification could not run: {}", error.what());
  }
}

/// A form of a page, where it may be written.
OutputFile page(const fs::path& path, const Replaces& replaces) {
  refuse_overwriting(path, replaces);
  return OutputFile(path);
}

/// Writes both forms of a page. Throws ProgramError where pictures are `missing`, after that.
void write_pages(const Document& document, OutputFile& html, OutputFile& markdown, const std::string& missing) {
  html.append(render_html(document));
  markdown.append(render_markdown(document));
  html.complete();
  markdown.complete();
  html.finish();
  markdown.finish();
  write_output(fmt::format("{}\n{}\n", printable(html.path().string()), printable(markdown.path().string())));
  if (!missing.empty()) throw ProgramError(missing + "; the report is written without these pictures");
}

/// The page of several engines: compared, with the trace replayed, and drawn beside each other.
int run_engines_report(const ReportOptions& options) {
  const std::vector<CompareSetting> settings = engine_settings(options.scenario);
  const fs::path folder = options.folder;
  const OutputFolder made(folder);
  const Replaces replaces{options.overwrite, inputs_of(settings.front().scenario)};
  OutputFile html = page(folder / "report.html", replaces), markdown = page(folder / "report.md", replaces);
  EnginesReportInputs report;
  std::string missing;
  {
    Progress progress(options.quiet);
    const auto at = [&](int done, int total) { progress.update("report", "engines", done, total); };
    report.comparison = compare(settings, {.wanted = true, .on_progress = {}}, options.cards);
    for (const CompareSetting& setting : settings) report.memories.push_back(full_memory(setting));
    std::vector<Plot> plots{plot_engine_requests(engine_requests(settings))};
    try {
      plots.push_back(plot_engine_rates(engine_rates(settings, at)));
    } catch (const InputError& error) {
      write_message(fmt::format("hybridkv: {} is left out: {}", to_string(EnginePlotKind::hit_rate), error.what()));
    }
    report.pictures = draw(plots, folder, replaces, missing);
  }
  const CommandWords asked = replayed_words(options.scenario, options.traffic);
  const std::string words =
      shell_words(asked) + " --engines " + shell_word(options.scenario.engines) + replay_words(asked);
  const std::string kernels = kernel_words(options.kernels);
  report.commands = {"hybridkv report " + words + kernels + " -o report", "hybridkv compare " + words + kernels,
                     "hybridkv plot " + words + " -o plots"};
  write_pages(engines_report(report), html, markdown, missing);
  const auto is_corrupted = [](const ComparedSetting& setting) { return corrupts_kernel(setting.kernels); };
  const std::vector<ComparedSetting>& engines = report.comparison.settings;
  return std::any_of(engines.begin(), engines.end(), is_corrupted) ? exit_fault_found : exit_fine;
}

std::vector<std::string> commands(const ReportOptions& options) {
  const CommandWords asked = replayed_words(options.scenario, options.traffic);
  const std::string scenario = shell_words(asked), replayed = scenario + replay_words(asked);
  const std::string kernels = kernel_words(options.kernels);
  return {"hybridkv report " + replayed + kernels + " -o report" + (options.no_verify ? " --no-verify" : ""),
          "hybridkv plan " + scenario, "hybridkv explain " + scenario, "hybridkv recommend " + replayed + kernels,
          "hybridkv simulate " + replayed, "hybridkv verify " + scenario,
          "hybridkv plot " + replayed + " -o plots"};
}

int run_report(const ReportOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  ScenarioReportInputs report;
  report.planned = plot_inputs(scenario);
  for (CachePlan& plan : report.planned.set.plans) judge_kernels(options.cards, plan);
  report.findings = plan_answer(report.planned.set, scenario);
  report.commands = commands(options);
  report.made_by = fmt::format("hybridkv {}, commit {}", program_version(), program_commit());
  const fs::path folder = options.folder;
  const OutputFolder made(folder);
  const Replaces replaces{options.overwrite, inputs_of(scenario)};
  OutputFile html = page(folder / "report.html", replaces), markdown = page(folder / "report.md", replaces);
  std::string missing;
  {
    Progress progress(options.quiet);
    add_recommendation(report, scenario, options.cards, progress);
    report.replay = replay_part(scenario, progress);
    const ReportPlots plots = plots_of(report.planned, progress);
    verify(report, scenario, options, progress);
    const std::vector<Picture> of_packs = draw(plots.of_packs, folder, replaces, missing);
    report.first.pictures = draw_pick(report, folder, replaces, missing);
    for (std::size_t i = 0; i < of_packs.size(); ++i)
      if (!is_shown_first(report.first, of_packs[i]))
        report.pack_pictures.push_back({*plots.of_packs[i].pack, of_packs[i]});
    report.pictures = draw(plots.of_all, folder, replaces, missing);
  }
  write_pages(scenario_report(report), html, markdown, missing);
  const std::vector<NamedFits> judged = judged_layouts(report);
  if (std::any_of(judged.begin(), judged.end(), [](const NamedFits& one) { return corrupts_kernel(one.second); }))
    return exit_fault_found;
  return exit_code_of(verdict_of(report.verified));
}

}  // namespace

void add_report_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "report",
      "One page of HTML, and the same in Markdown: plan, recommendation, plots, replay, verification, derivation");
  const auto options = std::make_shared<ReportOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_replayed_trace(*command, options->scenario, options->traffic);
  command
      ->add_option("--output,-o", options->folder,
                   "folder for report.html, report.md and plots/; made where it is missing")
      ->type_name("DIR")
      ->required();
  add_force_option(*command, options->overwrite);
  add_kernels_option(*command, options->kernels);
  command->add_flag("--no-verify", options->no_verify, "do not verify on real tensors, which takes memory and seconds");
  command->add_flag("--quiet,-q", options->quiet, "no progress on standard error");
  command->footer(
      "With --engines: engines beside each other in tables and pictures, the trace of\n"
      "the scenario replayed through each.\n"
      "With --kernels the exit code is 1 where a kernel would silently corrupt the\n"
      "pick, a pack or an engine of the report.\n"
      "The HTML page holds its pictures and needs neither network nor scripts.\n"
      "\nExamples:\n"
      "  hybridkv report qwen3.5-397b -o report\n"
      "  hybridkv report qwen3.5-397b --pack 1 --engines all -o report\n"
      "  hybridkv report qwen3.5-397b --kernels mine.card.json -o report\n"
      "  hybridkv report my.yaml --pack 4,5 -o report --no-verify");
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      options->cards = read_kernel_cards(options->kernels);
      return options->scenario.engines.empty() ? run_report(*options) : run_engines_report(*options);
    };
  });
}

}  // namespace hybridkv
