#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <thread>

#include "ask/replay/sweep.h"
#include "base/build_info.h"
#include "base/ordered_work.h"
#include "python/answers.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/replay/sweep_row.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// Number of points, the keys that vary, and what was assumed.
struct SweepSize {
  std::int64_t points = 0;
  std::vector<std::string> axes;
  std::vector<std::string> notes;
};

SweepSize sweep_size(nb::handle scenario, const nb::dict& keys) {
  return watched(nb::none(), [file = question_of(scenario, keys)](const Watch&) {
    const ScenarioSweep sweep(file);
    SweepSize size{sweep.num_points(), {}, sweep.notes()};
    for (const SweepAxis& axis : sweep.axes()) size.axes.push_back(axis.path);
    return size;
  });
}

/// The rows of the points from one position to another one (excluded), as JSON Lines.
std::string rows_between(const ScenarioSweep& sweep, const SweepQuestion& question, std::int64_t begin,
                         std::int64_t end, std::int64_t threads, const Watch& to) {
  SweepRowSpec spec{.axes = {}, .verified = question.verify, .simulated = question.simulate,
                    .timed = sweep_has_clock(sweep, question), .format = SweepFormat::jsonl,
                    .num_points = sweep.num_points(),
                    .identity = fmt::format("hybridkv {}\n{}", program_version(),
                                            sweep_identity(sweep, question))};
  for (const SweepAxis& axis : sweep.axes()) spec.axes.push_back(axis.path);
  const SweepRows rows(std::move(spec));
  const AxisCells cells(sweep);
  const std::int64_t piece = sweep_piece_size(question, end - begin, threads);
  std::string text;
  std::int64_t taken = 0;
  do_in_order(OrderedWork<std::string>{
      .num_pieces = (end - begin + piece - 1) / piece,
      .threads = threads,
      .make_worker =
          [&] {
            const auto worker = std::make_shared<SweepWorker>(sweep, question);
            return [&, worker](std::int64_t number) {
              std::vector<std::int64_t> points;
              for (std::int64_t at = begin + number * piece; at < std::min(begin + (number + 1) * piece, end); ++at)
                points.push_back(at);
              std::string made;
              for (const SweepPoint& point : worker->answer(points, [&] { to.look(); }))
                made += rows.row(point, cells.at(point.point));
              return made;
            };
          },
      .take =
          [&](std::string made) {
            text += made;
            taken = std::min(taken + piece, end - begin);
            to.at("points", taken, end - begin);
          }});
  return text;
}

/// `threads`: 0 for all cores.
std::string sweep_rows(nb::handle scenario, const nb::dict& keys, bool verify, bool simulate, std::int64_t begin,
                       std::int64_t end, std::int64_t threads, const nb::object& progress) {
  const SweepQuestion question{.verify = verify, .simulate = simulate};
  if (threads == 0) threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  if (verify) threads = 1;  // a verification uses all cores itself
  return watched(progress, [=, file = question_of(scenario, keys)](const Watch& to) {
    const ScenarioSweep sweep(file);
    const std::int64_t last = std::min(end, sweep.num_points());
    return begin < last ? rows_between(sweep, question, begin, last, threads, to) : std::string();
  });
}

}  // namespace

void register_sweep(nb::module_& module) {
  nb::class_<SweepSize>(module, "SweepSize")
      .def_ro("points", &SweepSize::points)
      .def_ro("axes", &SweepSize::axes)
      .def_ro("notes", &SweepSize::notes);
  module.def("sweep_size", sweep_size, nb::arg("scenario").none(), nb::arg("keys"));
  module.def("sweep_rows", sweep_rows, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("verify"),
             nb::arg("simulate"), nb::arg("begin"), nb::arg("end"), nb::arg("threads"), nb::arg("progress").none());
}

}  // namespace hybridkv
