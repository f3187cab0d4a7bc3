#include "ask/replay/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ask/replay/longest_repeats.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate_request.h"
#include "ask/verify.h"
#include "base/byte_source.h"
#include "base/error.h"
#include "planner/plan.h"
#include "simulator/schedule/overload.h"
#include "simulator/sweep.h"
#include "simulator/trace/chain_hash.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace {

/// A point of the sweep whose answer is not complete yet.
struct AskedPoint {
  SweepPoint answer;
  TraceSpec trace;
  std::optional<SimulationSpec> simulation;

  /// An error with an excerpt of the file has more than one line; the first says it all.
  void refuse(const Error& error) {
    answer.status = PointStatus::impossible;
    answer.reason = error.what();
    answer.reason.erase(std::min(answer.reason.find('\n'), answer.reason.size()));
  }

  /// Runs a step. An error that the point itself causes becomes the reason of its answer.
  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const ResourceError&) {
      throw;  // the machine is too small, which says nothing of the point
    } catch (const SpecError& error) {
      refuse(scenario_error(error));
    } catch (const InputError& error) {
      refuse(error);
    }
  }
};

void plan(AskedPoint& point, const Scenario& scenario, const SweepQuestion& question) {
  // Only verification touches views.
  const PlanDetail detail = question.verify ? PlanDetail::full : PlanDetail::numbers;
  point.answer.plan = make_plan(scenario.model, scenario.engine, scenario.limits, scenario.workspace, detail);
  if (!question.simulate) return;
  point.trace = scenario.simulate.trace;
  point.simulation =
      SimulationSpec{.cache = cache_of(*point.answer.plan, scenario), .driver = scenario.simulate.driver};
  if (scenario.simulate.clock.is_asked()) {
    Scenario timed = scenario;
    point.answer.timed = set_clock(timed, point.simulation->cache);
    point.simulation->driver = timed.simulate.driver;
  }
  check_replay(*point.simulation);
}

void verify(SweepPoint& point, const Scenario& scenario) {
  const std::vector<std::int64_t>& packs = scenario.verify.pack_sizes;
  point.not_asked =
      !packs.empty() && std::find(packs.begin(), packs.end(), point.plan->attention_pack_size) == packs.end();
  if (point.not_asked) return;
  const VerifyReport report = verify_plan(*point.plan, verify_spec(scenario));
  point.verification = verdict_of(std::span(&report, 1));
  if (point.verification != Verdict::fault) return;
  point.status = PointStatus::fault;
  const CheckResult* failure = report.first_failure();
  point.reason = failure ? fmt::format("{}: {}", failure->name, failure->message) : "a check did not run";
}

/// Points of one trace, which is read once for all of them.
struct TraceGroup {
  const TraceSpec* trace = nullptr;
  std::vector<SimulationSpec> simulations;       // each once
  std::vector<std::vector<std::size_t>> points;  // (simulation) that ask for it
};

bool same_question(const SimulationSpec& a, const SimulationSpec& b) {
  return a.cache == b.cache && a.driver == b.driver;
}

void replay(std::vector<AskedPoint>& points, const std::function<void()>& look) {
  std::vector<TraceGroup> groups;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].simulation) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const TraceGroup& known) { return *known.trace == points[i].trace; });
    if (group == groups.end()) group = groups.insert(groups.end(), TraceGroup{&points[i].trace, {}, {}});
    const auto known = std::find_if(
        group->simulations.begin(), group->simulations.end(),
        [&](const SimulationSpec& simulation) { return same_question(simulation, *points[i].simulation); });
    const auto position = static_cast<std::size_t>(known - group->simulations.begin());
    if (known == group->simulations.end()) {
      group->simulations.push_back(*points[i].simulation);
      group->points.emplace_back();
    }
    group->points[position].push_back(i);
  }
  const auto run = [&](const TraceGroup& group, std::size_t begin, std::size_t end) {
    SweepSpec sweep{.threads = 1};
    sweep.simulations.assign(group.simulations.begin() + static_cast<std::ptrdiff_t>(begin),
                             group.simulations.begin() + static_cast<std::ptrdiff_t>(end));
    if (look) sweep.on_progress = [&](const SweepProgress&) { look(); };
    const SweepResult result = run_sweep(*open_trace(*group.trace), sweep);
    LongestRepeats repeats(*group.trace);
    for (std::size_t i = begin; i < end; ++i)
      for (const std::size_t point : group.points[i]) {
        SweepPoint& answer = points[point].answer;
        answer.stats = result.caches[i - begin].index;
        answer.times = result.caches[i - begin].times;
        answer.longest_repeat = repeats.of(*answer.stats, max_model_len_of(group.simulations[i].cache));
        if (const SimulationStats* const blocks = answer.blocks())
          answer.overloaded = is_overloaded(group.simulations[i].driver, *blocks);
      }
  };
  for (const TraceGroup& group : groups) {
    try {
      run(group, 0, group.simulations.size());
    } catch (const SpecError&) {
      // One of them cannot be run: find out which.
      for (std::size_t i = 0; i < group.simulations.size(); ++i) {
        try {
          run(group, i, i + 1);
        } catch (const SpecError& error) {
          for (const std::size_t point : group.points[i]) points[point].refuse(scenario_error(error));
        }
      }
    }
  }
}

/// Fills the piece as far as the file goes, so that pieces are the same however a stream delivers them.
std::size_t read_full(ByteSource& file, std::vector<char>& piece) {
  std::size_t filled = 0;
  while (filled < piece.size()) {
    const std::size_t count = file.read(piece.data() + filled, piece.size() - filled);
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

/// The bytes of a file that the sweep reads, shortened to a number; a name alone could stand for anything.
std::string file_identity(const std::string& path) {
  if (path.empty()) return "none";
  const std::unique_ptr<ByteSource> file = open_raw_bytes(path);
  std::uint64_t hash = empty_chain;
  std::int64_t bytes = 0;
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::size_t count = 0; (count = read_full(*file, piece)) > 0; bytes += static_cast<std::int64_t>(count)) {
    std::fill(piece.begin() + static_cast<std::ptrdiff_t>(count), piece.end(), '\0');
    for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::copy_n(piece.data() + i, sizeof word, reinterpret_cast<char*>(&word));
      hash = mix64(hash, word);
    }
  }
  return fmt::format("{} bytes {:016x}", bytes, hash);
}

}  // namespace

std::string sweep_trace_file(const ScenarioSweep& sweep, const SweepQuestion& question) {
  return question.simulate ? SweepReader(sweep).at(0).simulate.trace.file : std::string();
}

bool sweep_has_clock(const ScenarioSweep& sweep, const SweepQuestion& question) {
  return question.simulate && SweepReader(sweep).at(0).simulate.clock.is_asked();
}

std::string sweep_identity(const ScenarioSweep& sweep, const SweepQuestion& question) {
  if (!question.simulate) return sweep.identity();
  const std::string clock = SweepReader(sweep).at(0).simulate.clock.served.file;
  return sweep.identity() + "\ntrace " + file_identity(sweep_trace_file(sweep, question)) +
         (clock.empty() ? "" : "\nclock " + file_identity(clock));
}

std::int64_t sweep_piece_size(const SweepQuestion& question, std::int64_t points, std::int64_t threads) {
  if (question.verify) return 1;
  const std::int64_t largest = question.simulate ? 8 : 256;
  return std::clamp<std::int64_t>(points / (4 * threads), 1, largest);
}

SweepWorker::SweepWorker(const ScenarioSweep& sweep, const SweepQuestion& question)
    : question_(question), reader_(sweep) {}

std::vector<SweepPoint> SweepWorker::answer(const std::vector<std::int64_t>& points,
                                            const std::function<void()>& look) {
  std::vector<AskedPoint> asked;
  for (const std::int64_t number : points) {
    AskedPoint& point = asked.emplace_back();
    point.answer.point = number;
    point.attempt([&] {
      const Scenario& scenario = reader_.at(number);
      plan(point, scenario, question_);
      if (question_.verify) verify(point.answer, scenario);
    });
  }
  replay(asked, look);
  std::vector<SweepPoint> answers;
  for (AskedPoint& point : asked) answers.push_back(std::move(point.answer));
  return answers;
}

}  // namespace hybridkv
