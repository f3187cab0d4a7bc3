#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "ask/plot/engine_curves.h"
#include "ask/plot/fleet_curves.h"
#include "ask/plot/plot_values.h"
#include "ask/plot/time_curves.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "cli/clock_options.h"
#include "cli/commands.h"
#include "cli/destination_options.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/fleet_options.h"
#include "cli/help_format.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/replay_progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/plot/make_plots.h"
#include "report/plot/plot_engines.h"
#include "report/plot/plot_files.h"
#include "report/plot/plot_fleet.h"
#include "report/plot/plot_times.h"
#include "report/transfer/transfer_svg.h"

namespace hybridkv {

namespace {

/// A kind of its own: it shows two sides, of which the flags name the other one.
constexpr const char* transfer_kind = "transfer";

struct PlotOptions {
  ScenarioOptions scenario;
  SimpleTraffic traffic;
  DestinationOptions destination;
  ClockOptions clock;
  FleetOptions fleet;
  std::vector<std::string> kinds;
  std::string folder;
  std::string format = "svg";
  std::optional<int> width;
  std::string style;  ///< a file; empty: none
  bool quiet = false;
  Overwrite overwrite = Overwrite::no;
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const PlotKindInfo& info : all_plot_kinds()) names.emplace_back(info.name);
  names.emplace_back(transfer_kind);
  return names;
}

std::vector<PlotKind> kinds_of(const std::vector<std::string>& names) {
  std::vector<PlotKind> kinds;
  for (const std::string& name : names) {
    const auto kind = parse_plot_kind(name);
    if (parse_engine_plot_kind(name))
      throw InputError(fmt::format("plot {}: shows engines beside each other; name them: --engines all", name));
    if (parse_time_plot_kind(name))
      throw InputError(fmt::format("plot {}: shows times; say on what by --gpu NAME", name));
    if (parse_fleet_plot_kind(name))
      throw InputError(fmt::format("plot {}: shows several replicas; say how many by --replicas R", name));
    if (!kind) {
      const std::vector<std::string> known = kind_names();
      throw InputError(fmt::format("plot {}: no such kind; take one of {}{}", name, fmt::join(known, ", "),
                                   did_you_mean(name, known)));
    }
    if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) kinds.push_back(*kind);
  }
  if (kinds.empty())
    for (const PlotKindInfo& info : all_plot_kinds()) kinds.push_back(info.kind);
  return kinds;
}

std::string kind_list() {
  std::string text = "Kinds (default: all of them):\n";
  for (const PlotKindInfo& info : all_plot_kinds())
    text += help_entry(std::string(info.name), std::string(info.description));
  text += "\nWith --engines, which takes one --pack (default: both):\n";
  text += help_entry(std::string(to_string(EnginePlotKind::request)), "bytes of one request in every layout, to scale");
  text += help_entry(std::string(to_string(EnginePlotKind::hit_rate)),
                     "hit rate over memory, a curve an engine, with the bound above");
  text += "\nWith --gpu (default: both; docs/clock.md), of each pack or engine:\n";
  text += help_entry(std::string(to_string(TimePlotKind::latency)),
                     "time of a first and of each further token against the load, with and without prefix caching");
  text += help_entry(std::string(to_string(TimePlotKind::step_time)), "where a step's time goes against the load");
  text += "\nWith --replicas (default: both; docs/fleet.md):\n";
  text += help_entry(std::string(to_string(FleetPlotKind::gaps)),
                     "what each router finds, and what better routing, one store, another pack and any policy "
                     "could add");
  text += help_entry(std::string(to_string(FleetPlotKind::course)),
                     "what is found, and how evenly replicas compute, over the trace");
  text += "\nWith --to-set or --to:\n";
  text += help_entry(transfer_kind, "pages of both sides of a transfer, with the runs that are copied between them");
  return text;
}

/// Those of several engines included.
std::vector<std::string> offered_kinds() {
  std::vector<std::string> names = kind_names();
  for (const std::string& name : names_of(engine_plot_kind_names)) names.push_back(name);
  for (const std::string& name : names_of(time_plot_kind_names)) names.push_back(name);
  for (const std::string& name : names_of(fleet_plot_kind_names)) names.push_back(name);
  return names;
}

/// The kinds that were typed, each once, or all of these. `which`: what they are, and how others are asked for.
template <class Kind, std::size_t size>
std::vector<Kind> chosen_kinds(const PlotOptions& options, const NamedValues<Kind, size>& names,
                               std::string_view which) {
  const std::vector<std::string> known = names_of(names);
  std::vector<Kind> kinds;
  for (const std::string& name : options.kinds) {
    const std::optional<Kind> kind = value_in(names, name);
    if (!kind)
      throw InputError(fmt::format("plot {}: no kind {} {}{}", name, which, fmt::join(known, " or "),
                                   did_you_mean(name, known)));
    if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) kinds.push_back(*kind);
  }
  if (!kinds.empty()) return kinds;
  const auto all = values_of(names);
  return {all.begin(), all.end()};
}

/// The plots of several engines: of these kinds, or all that there are.
std::vector<Plot> engine_plots(const PlotOptions& options) {
  const std::vector<EnginePlotKind> kinds =
      chosen_kinds(options, engine_plot_kind_names, "of several engines; with --engines take");
  const std::vector<CompareSetting> settings = engine_settings(options.scenario);
  Progress progress(options.quiet);
  std::vector<Plot> plots;
  for (const EnginePlotKind kind : kinds) {
    if (kind == EnginePlotKind::request)
      plots.push_back(plot_engine_requests(engine_requests(settings)));
    else
      plots.push_back(plot_engine_rates(engine_rates(
          settings, [&](int done, int total) { progress.update("plot", to_string(kind), done, total); })));
  }
  return plots;
}

/// What is drawn by a clock: the scenario, or it under each engine.
std::vector<TimedSetting> timed_settings(const PlotOptions& options, const TimedQuestion& timed) {
  if (options.scenario.engines.empty()) return {{"", read_scenario_on(options.scenario, timed)}};
  std::vector<TimedSetting> settings;
  for (const std::string& release : engine_names(options.scenario.engines)) {
    ScenarioOptions one = options.scenario;
    one.release = release;
    try {
      settings.push_back({release, scenario_on(one, timed)});
    } catch (const InputError& error) {
      write_message(fmt::format("hybridkv: {} is left out: {}", release, error.what()));
    }
  }
  if (settings.empty()) throw InputError("--engines: none of them takes this question; ask one of them by --engine");
  show_notes(settings.front().scenario.notes);
  return settings;
}

std::vector<Plot> time_plots(const PlotOptions& options, const TimedQuestion& timed,
                             const std::vector<TimedSetting>& settings) {
  const std::vector<TimePlotKind> kinds =
      chosen_kinds(options, time_plot_kind_names, "that shows times; with --gpu take");
  std::vector<double> rates = rates_of(options.clock);
  if (options.clock.rate.empty()) rates.assign(std::begin(usual_rates), std::end(usual_rates));
  Progress progress(options.quiet);
  const TimeCurves curves = time_curves(settings, timed, rates, [&](int done, int total) {
    progress.update("plot", "by the clock", done, total);
  });
  for (const std::string& refused : curves.refused) write_message("hybridkv: left out: " + refused);
  std::vector<Plot> plots;
  for (const TimePlotKind kind : kinds)
    plots.push_back(kind == TimePlotKind::latency ? plot_latency(curves) : plot_step_time(curves));
  return plots;
}

/// Pictures of the fleet that is asked for, by a clock where there is a GPU.
std::vector<Plot> fleet_plots(const PlotOptions& options, const Scenario& scenario) {
  const std::vector<FleetPlotKind> kinds =
      chosen_kinds(options, fleet_plot_kind_names, "that shows several replicas; with --replicas take");
  Progress progress(options.quiet);
  std::vector<Plot> plots;
  try {
    const FleetCurves curves = fleet_curves(scenario, shown_in(progress, "plot"));
    for (const FleetPlotKind kind : kinds) {
      if (kind == FleetPlotKind::gaps) plots.push_back(plot_routing_gaps(curves));
      else for (Plot& plot : plot_routing_courses(curves)) plots.push_back(std::move(plot));
    }
  } catch (const SpecError& error) {
    if (const char* const flag = given_fleet_flag(error.path(), options.fleet))
      throw InputError(fmt::format("{}: {}", flag, error.message()));
    throw located(scenario_error(error), scenario);
  }
  return plots;
}

std::vector<Plot> scenario_plots(const PlotOptions& options, const std::vector<PlotKind>& kinds,
                                 const Scenario& scenario, const PlotInputs& inputs) {
  std::vector<Plot> plots;
  Progress progress(options.quiet);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    progress.update("plot", all_plot_kinds()[static_cast<std::size_t>(kinds[i])].name, static_cast<int>(i),
                    static_cast<int>(kinds.size()));
    try {
      for (Plot& plot : make_plots(kinds[i], inputs, plot_values(kinds[i], inputs))) plots.push_back(std::move(plot));
    } catch (const InputError& error) {
      // Who asks for everything gets what there is.
      const auto* const of_value = dynamic_cast<const SpecError*>(&error);
      if (!options.kinds.empty() && of_value != nullptr) throw located(*of_value, scenario);
      if (!options.kinds.empty()) throw;
      write_message(fmt::format("hybridkv: {} is left out: {}",
                                all_plot_kinds()[static_cast<std::size_t>(kinds[i])].name, error.what()));
    }
  }
  return plots;
}

/// Form, size and look: the width of a style is for pictures on paper, of 25.4 mm to 96 pixels.
PictureSpec picture_of(const PlotOptions& options) {
  PictureSpec picture{*parse_picture_format(options.format), options.width.value_or(natural_picture_width), {}};
  if (options.style.empty()) return picture;
  picture.style = read_picture_style(options.style);
  if (picture.style.width_mm && options.width)
    throw InputError(fmt::format("--width {}: {} has a width_mm; leave one of them out", *options.width,
                                 options.style));
  if (picture.style.width_mm) picture.width = static_cast<int>(std::lround(*picture.style.width_mm / 25.4 * 96));
  return picture;
}

int draw(const PlotOptions& options, const std::vector<Plot>& plots, std::vector<std::string> inputs) {
  const PictureSpec picture = picture_of(options);
  if (!options.style.empty()) inputs.push_back(options.style);
  std::string listing;
  const DrawnPlots drawn = draw_plots(plots, picture, options.folder, {options.overwrite, std::move(inputs)});
  if (!drawn.missing.empty()) throw ProgramError(drawn.missing);
  for (const auto& path : drawn.files) listing += printable(path.string()) + "\n";
  write_output(listing);
  return exit_fine;
}

/// Takes the kind of transfers out of those that were named. Throws InputError where it and its flags do not go
/// together.
bool take_transfer(PlotOptions& options) {
  const bool wanted = std::erase(options.kinds, transfer_kind) > 0;
  const DestinationOptions& to = options.destination;
  const bool has_destination = !to.to.empty() || !to.to_set.empty();
  if (wanted && !options.scenario.engines.empty())
    throw InputError("plot transfer: shows two sides; leave out --engines, and name the other one by --to-set or --to");
  if (wanted && !has_destination)
    throw InputError("plot transfer: shows two sides; say what differs on the other one, --to-set "
                     "engine.tensor_parallel=8, or name it, --to SCENARIO");
  if (wanted || (!has_destination && to.tokens.empty())) return wanted;
  if (options.scenario.engines.empty()) kinds_of(options.kinds);  // a word that is no kind may have meant this one
  throw InputError(fmt::format("{} belongs to the plot transfer; name it: hybridkv plot SCENARIO transfer",
                               !to.to_set.empty() ? "--to-set" : !to.to.empty() ? "--to" : "--tokens"));
}

int run_plot(PlotOptions options) {
  // Without a scenario the first word is a kind already.
  if (parse_plot_kind(options.scenario.scenario) || parse_engine_plot_kind(options.scenario.scenario) ||
      parse_time_plot_kind(options.scenario.scenario) || parse_fleet_plot_kind(options.scenario.scenario) ||
      options.scenario.scenario == transfer_kind) {
    options.kinds.insert(options.kinds.begin(), options.scenario.scenario);
    options.scenario.scenario.clear();
  }
  apply_simple_traffic(options.scenario, options.traffic);
  if (is_given(options.fleet)) {
    if (!options.scenario.engines.empty())
      throw InputError("--replicas: routers are drawn of one engine; choose it by --engine, without --engines");
    if (rates_of(options.clock).size() > 1)
      throw InputError("--rate draws the load of one replica; give one factor beside --replicas");
    Scenario scenario = read_scenario_on(options.scenario, options.clock);
    lay_over(scenario.simulate.fleet, options.fleet);
    const OutputFolder folder(options.folder);
    return draw(options, fleet_plots(options, scenario), inputs_of(scenario));
  }
  if (const std::optional<TimedQuestion> timed = timed_question(options.clock)) {
    const std::vector<TimedSetting> settings = timed_settings(options, *timed);
    const OutputFolder folder(options.folder);
    return draw(options, time_plots(options, *timed, settings), inputs_of(settings.front().scenario));
  }
  const bool only_transfer = options.kinds.size() == 1;
  std::vector<Plot> plots;
  std::vector<std::string> read;  // files
  if (take_transfer(options)) {
    const TransferQuestion question = transfer_question(options.scenario, options.destination, "--to");
    read = inputs_of(question.to);
    for (std::string& input : inputs_of(question.from)) read.push_back(std::move(input));
    plots.push_back(plot_transfer(transfer(question)));
    if (only_transfer) {
      const OutputFolder folder(options.folder);
      return draw(options, plots, std::move(read));
    }
  }
  if (!options.scenario.engines.empty()) {
    const OutputFolder folder(options.folder);
    const std::vector<Plot> of_engines = engine_plots(options);
    return draw(options, of_engines, inputs_of(engine_settings(options.scenario).front().scenario));
  }
  const std::vector<PlotKind> kinds = kinds_of(options.kinds);
  const Scenario scenario = read_scenario(options.scenario);
  const PlotInputs inputs = plot_inputs(scenario);
  const OutputFolder folder(options.folder);
  for (Plot& plot : scenario_plots(options, kinds, scenario, inputs)) plots.push_back(std::move(plot));
  for (std::string& input : inputs_of(scenario)) read.push_back(std::move(input));
  return draw(options, plots, std::move(read));
}

}  // namespace

void add_plot_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("plot", "Draw what a plan says: data, a gnuplot script and a picture of each kind");
  const auto options = std::make_shared<PlotOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_replayed_trace(*command, options->scenario, options->traffic);
  command->add_option("KIND", options->kinds, "what to draw; see below")
      ->check(offers({offered_kinds()}))
      ->type_name("");
  command
      ->add_option("--to", options->destination.to,
                   "transfer: the scenario that a cache goes to (default: the same one)")
      ->type_name("SCENARIO");
  add_destination_options(*command, options->destination);
  const std::size_t first = command->get_options().size();
  add_served_options(*command, options->clock);
  add_service_options(*command, options->clock,
                      "loads to draw, times those of the trace: 0.5x,1x,2x (default: from 0.125x to 8x)");
  group_since(*command, first, "By the clock");
  const std::size_t second = command->get_options().size();
  add_fleet_options(*command, options->fleet);
  group_since(*command, second, "Fleet");
  command->add_option("--output,-o", options->folder, "folder for the files; made where it is missing")
      ->type_name("DIR")
      ->required();
  command->add_option("--format,-f", options->format, "svg, png or pdf (default: svg)")
      ->check(one_of(names_of(picture_format_names)))
      ->type_name("FORMAT");
  command
      ->add_option("--width", options->width,
                   fmt::format("pixels, everything grows along (default: {})", natural_picture_width))
      ->check(whole_number(200, 10000))
      ->type_name("PIXELS");
  command->add_option("--style", options->style, "YAML with the look of your own: font, text, width_mm, lines, fills")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  command->add_flag("--quiet,-q", options->quiet, "no progress on standard error");
  command->footer(
      kind_list() +
      "\nExamples:\n"
      "  hybridkv plot qwen3.5-397b -o plots\n"
      "  hybridkv plot qwen3.5-397b block-size concurrency --pack 1..16 -o plots\n"
      "  hybridkv plot qwen3.5-397b page-map --format png --width 1660 -o plots\n"
      "  hybridkv plot qwen3.5-397b --pack 1 --engines all -o plots\n"
      "  hybridkv plot qwen3.5-397b transfer --to-set engine.tensor_parallel=8 \\\n"
      "      -o plots\n"
      "  hybridkv plot Qwen3.5-35B-A3B --max-model-len 128k --gpu H200 --ttft 1s \\\n"
      "      --pack 1 -o plots\n"
      "  hybridkv plot qwen3.5-397b --pack 1,5 --replicas 4 -o plots\n"
      "  hybridkv plot --model Qwen3.5-4B --memory 12GiB --max-model-len 32k -o plots");
  command->callback([options, &action] { action = [options] { return run_plot(*options); }; });
}

}  // namespace hybridkv
