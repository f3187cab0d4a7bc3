#include "ask/clock/clock_score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "ask/clock/served_clock.h"
#include "simulator/fleet/decode_load.h"

namespace hybridkv {

namespace {

/// Predicted and measured figures, gathered from several fits.
struct Figures {
  std::vector<LoadFigures> predicted, measured;
  void add(const ReplayedRuns& runs, const Coefficients& coefficients) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      predicted.push_back(runs.predicted(i, coefficients));
      measured.push_back({runs.measured(i).first_token, runs.measured(i).output_token, 0});
    }
  }
  void add(const Figures& more) {
    predicted.insert(predicted.end(), more.predicted.begin(), more.predicted.end());
    measured.insert(measured.end(), more.measured.begin(), more.measured.end());
  }
  ClockError error() const { return error_of(predicted, measured); }
};

std::vector<MeasuredRun> runs_of(const std::vector<const MeasuredRow*>& rows) {
  std::vector<MeasuredRun> runs;
  for (const MeasuredRow* row : rows) runs.push_back(row->run);
  return runs;
}

std::map<std::string, std::vector<const MeasuredRow*>> by_engine(
    const std::vector<MeasuredRow>& rows, const std::function<bool(const MeasuredRow&)>& counts) {
  std::map<std::string, std::vector<const MeasuredRow*>> engines;
  for (const MeasuredRow& row : rows)
    if (counts(row)) engines[std::string(row.engine->clock->name)].push_back(&row);
  return engines;
}

/// The rows that clocks are fitted to.
std::map<std::string, std::vector<const MeasuredRow*>> clean_by_engine(const std::vector<MeasuredRow>& rows) {
  return by_engine(rows, [](const MeasuredRow& row) { return row.is_clean(); });
}

/// The figures of a deployment once its own two runs are known, without these.
void add_calibrated(Figures& figures, std::vector<const MeasuredRow*> rows, const Coefficients& engine) {
  constexpr std::size_t fewest = 4;
  if (rows.size() < fewest) return;
  const auto order = [](const MeasuredRow* a, const MeasuredRow* b) {
    const LoadTest &one = a->run.test, &other = b->run.test;
    return std::tuple(one.concurrency, one.input_tokens, one.output_tokens) <
           std::tuple(other.concurrency, other.input_tokens, other.output_tokens);
  };
  std::stable_sort(rows.begin(), rows.end(), order);
  const auto last = std::find_if(rows.begin(), rows.end(), [&](const MeasuredRow* row) {
    return row->run.test.concurrency > rows.front()->run.test.concurrency;
  });
  // Of the least concurrency the longest prompts; where all are of one length, the next run.
  const auto longest = std::max(rows.begin() + 1, last - 1);
  const std::vector<const MeasuredRow*> own{rows.front(), *longest};
  rows.erase(longest);
  rows.erase(rows.begin());
  figures.add(ReplayedRuns(runs_of(rows)), calibrated(engine, ReplayedRuns(runs_of(own))));
}

/// Figures of rows, by the engine's clock alone and with two runs of each deployment.
struct ScoredFigures {
  Figures blind, own;
  void add(const ScoredFigures& more) {
    blind.add(more.blind);
    own.add(more.own);
  }
  ClockScore named(const std::string& name) const {
    return {.name = name, .blind = blind.error(), .own = own.error()};
  }
};

/// Pre: rows are of one engine.
ScoredFigures scored(const std::vector<const MeasuredRow*>& rows) {
  const Coefficients& engine = clock_of(*rows.front()->engine).coefficients;
  ScoredFigures figures;
  figures.blind.add(ReplayedRuns(runs_of(rows)), engine);
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t, std::int64_t>,
           std::vector<const MeasuredRow*>> deployments;
  for (const MeasuredRow* row : rows) {
    const MeasuredRun& run = row->run;
    deployments[{row->model, row->gpu, row->weights, run.split.tensor_parallel, run.split.gpus,
                 run.rules.drafts.tokens}].push_back(row);
  }
  for (const auto& [key, of_deployment] : deployments) add_calibrated(figures.own, of_deployment, engine);
  return figures;
}

/// Figures of the rows of each model, or of each GPU, by a fit to the others. Pre: rows are of one engine.
Figures left_out(const std::vector<const MeasuredRow*>& rows, std::string MeasuredRow::*what) {
  std::set<std::string> values;
  for (const MeasuredRow* row : rows) values.insert(row->*what);
  Figures apart;
  for (const std::string& value : values) {
    std::vector<const MeasuredRow*> seen, unseen;
    for (const MeasuredRow* row : rows) (row->*what == value ? unseen : seen).push_back(row);
    if (!seen.empty()) apart.add(ReplayedRuns(runs_of(unseen)), fit_coefficients(ReplayedRuns(runs_of(seen))));
  }
  return apart;
}

/// Figures of rows of which others generate behind the prompts. Pre: rows are of one engine.
ScoredFigures scored_apart(const std::vector<const MeasuredRow*>& rows) {
  const Coefficients& engine = clock_of(*rows.front()->engine).coefficients;
  const auto driver = [&](const MeasuredRun& run) {
    return DriverSpec{.clock = std::make_shared<const StepClock>(run.model, run.split, run.gpu, engine),
                      .loop = run.rules};
  };
  ScoredFigures figures;
  for (const MeasuredRow* row : rows) {
    const DecodeSide& side = *row->decode;
    figures.blind.predicted.push_back(
        figures_of({.test = row->run.test,
                    .prompts = driver(row->run),
                    .outputs = driver(side.run),
                    .prompt_replicas = side.prompt_replicas,
                    .decode = {.replicas = side.replicas}}));
    figures.blind.measured.push_back({row->run.first_token, row->run.output_token, 0});
  }
  return figures;
}

}  // namespace

std::vector<ClockScore> score_clocks(const std::vector<MeasuredRow>& rows) {
  std::vector<ClockScore> scores;
  ScoredFigures all;
  for (const auto& [name, of_engine] : clean_by_engine(rows)) {
    const ScoredFigures figures = scored(of_engine);
    scores.push_back(figures.named(name));
    all.add(figures);
  }
  if (!all.blind.measured.empty()) scores.push_back(all.named("all"));
  const auto add_apart = [&](const std::string& name, auto&& counts, auto&& score) {
    ScoredFigures apart;
    for (const auto& [engine, of_engine] : by_engine(rows, counts)) apart.add(score(of_engine));
    if (!apart.blind.measured.empty()) scores.push_back(apart.named(name));
  };
  const auto has_drafts = [](const MeasuredRow& row) { return row.run.rules.drafts.tokens > 0; };
  const auto has_ranks = [](const MeasuredRow& row) { return row.run.rules.ranks > 1; };
  // Every other reason to distrust a row makes it stay out; these say what it has.
  const auto trusted = [](const MeasuredRow& row) {
    return !row.other_harness && !row.decode &&
           (row.flag == "drafts" || row.flag == "attention dp" || row.flag == "drafts; attention dp");
  };
  add_apart("with drafts", [&](const MeasuredRow& row) { return trusted(row) && has_drafts(row) && !has_ranks(row); },
            scored);
  add_apart("attention data parallel",
            [&](const MeasuredRow& row) { return trusted(row) && has_ranks(row) && !has_drafts(row); }, scored);
  add_apart("both", [&](const MeasuredRow& row) { return trusted(row) && has_ranks(row) && has_drafts(row); }, scored);
  const auto is_counted = [](const MeasuredRow& row) {
    return row.decode && row.decode->is_counted && row.flag.empty();
  };
  add_apart("prefill/decode", is_counted, scored_apart);
  return scores;
}

std::vector<ClockScore> score_unseen(const std::vector<MeasuredRow>& rows) {
  std::vector<ClockScore> scores;
  for (const auto& [name, what] : {std::pair("models", &MeasuredRow::model), {"GPUs", &MeasuredRow::gpu}}) {
    Figures all;
    for (const auto& [engine, of_engine] : clean_by_engine(rows))
      all.add(left_out(of_engine, what));
    if (!all.measured.empty()) scores.push_back({.name = name, .blind = all.error(), .own = {}});
  }
  return scores;
}

std::vector<ClockFile> fit_clocks(const std::vector<MeasuredRow>& rows) {
  std::vector<ClockFile> clocks;
  for (const auto& [name, of_engine] : clean_by_engine(rows)) {
    const ReplayedRuns runs(runs_of(of_engine));
    ClockFile clock{.engine = name, .coefficients = fit_coefficients(runs)};
    std::set<std::string> models, gpus;
    for (const MeasuredRow* row : of_engine) {
      models.insert(row->model);
      gpus.insert(row->gpu);
    }
    clock.basis = fmt::format("fitted to {} published runs of {} on {}", runs.size(), fmt::join(models, ", "),
                              fmt::join(gpus, ", "));
    clock.fitted = runs.error(clock.coefficients);
    clock.apart = left_out(of_engine, &MeasuredRow::model).error();
    clocks.push_back(clock);
  }
  return clocks;
}

}  // namespace hybridkv
