#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ask/recommend.h"
#include "ask/recommend_radix.h"
#include "base/suggest.h"
#include "planner/release.h"
#include "python/answers.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/recommend_radix_report.h"
#include "report/recommend_report.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// How candidates are weighed and what is searched; what is not said is up to the search.
struct RecommendWishes {
  std::optional<std::int64_t> at_length;
  std::optional<double> min_concurrency;
  double give_up_percent = WeighQuestion{}.give_up_percent;
  // Of engines with blocks.
  std::vector<std::int64_t> packs, block_sizes, kernel_blocks, match_units, retentions;
  bool keeps_all_checkpoints = false;  ///< is "all of them" among the retentions?
  std::optional<std::int64_t> min_kernel_block;
  std::string search;
  // Of engines with radix pools.
  std::vector<std::string> strategies;
  std::vector<double> ratios;
  std::vector<std::int64_t> page_sizes, track_intervals;
  // Of both.
  std::vector<std::string> modes;

  bool asks_of_blocks() const {
    return !packs.empty() || !block_sizes.empty() || !kernel_blocks.empty() || !match_units.empty() ||
           !retentions.empty() || keeps_all_checkpoints || min_kernel_block || !search.empty();
  }
  bool asks_of_radix() const {
    return !strategies.empty() || !ratios.empty() || !page_sizes.empty() || !track_intervals.empty();
  }
};

/// The value of that name; `names`: of all values.
template <class Value, class Table>
Value named(const char* what, const std::string& name, const Table& table) {
  if (const auto value = value_in(table, name)) return *value;
  const std::string problem = fmt::format("'{}' is none{}", name, did_you_mean(name, names_of(table)));
  throw InputError(fmt::format("{}: {}", what, problem), what, problem);
}

void weigh(const RecommendWishes& wishes, WeighQuestion& question) {
  if (wishes.at_length && *wishes.at_length < 1) throw InputError("at_length: must be at least 1 token");
  if (wishes.min_concurrency && !(*wishes.min_concurrency > 0))
    throw InputError("min_concurrency: must be a number of requests, more than 0");
  if (!(wishes.give_up_percent >= 0 && wishes.give_up_percent <= 100))
    throw InputError("give_up_percent: is a share of the default's concurrency, 0 to 100");
  question.at_length = wishes.at_length;
  question.min_concurrency = wishes.min_concurrency;
  question.give_up_percent = wishes.give_up_percent;
}

std::vector<CacheMode> modes_of(const RecommendWishes& wishes) {
  std::vector<CacheMode> modes;
  for (const std::string& name : wishes.modes) modes.push_back(named<CacheMode>("modes", name, cache_mode_names));
  return modes;
}

RecommendQuestion block_question(const RecommendWishes& wishes) {
  if (wishes.asks_of_radix())
    throw InputError("strategies, ratios, page_sizes and track_intervals are settings of engines with radix pools");
  RecommendQuestion question;
  weigh(wishes, question);
  question.space.packs = wishes.packs;
  for (const std::int64_t size : wishes.block_sizes)
    question.space.block_floors.push_back(size == 0 ? std::optional<std::int64_t>() : size);
  question.space.modes = modes_of(wishes);
  if (!wishes.match_units.empty()) question.space.match_units = wishes.match_units;
  if (wishes.keeps_all_checkpoints) question.space.retentions.emplace_back(std::nullopt);
  for (const std::int64_t tokens : wishes.retentions) question.space.retentions.emplace_back(tokens);
  question.kernel_blocks = wishes.kernel_blocks;
  question.min_kernel_block = wishes.min_kernel_block;
  if (!wishes.search.empty()) question.search = named<SearchKind>("search", wishes.search, search_kind_names);
  return question;
}

RadixQuestion radix_question(const RecommendWishes& wishes) {
  if (wishes.asks_of_blocks())
    throw InputError("packs, block_sizes, kernel_blocks, match_units, retentions and search are settings of engines "
                     "with blocks");
  RadixQuestion question;
  weigh(wishes, question);
  question.space.modes = modes_of(wishes);
  for (const std::string& name : wishes.strategies)
    question.space.strategies.push_back(named<RadixStrategy>("strategies", name, radix_strategy_names));
  question.space.ratios = wishes.ratios;
  question.space.page_sizes = wishes.page_sizes;
  question.space.track_intervals = wishes.track_intervals;
  return question;
}

JsonAnswer recommend_for(nb::handle scenario, const nb::dict& keys, const RecommendWishes& wishes,
                     const nb::object& progress) {
  return watched(progress, [file = question_of(scenario, keys), wishes](const Watch& to) {
    const Scenario read = read_scenario(file);
    const auto watch = [&](const RecommendProgress& at) { to.at(at.what, at.done, at.total); };
    // Commands for a shell are the command line's.
    if (rules_of(read.engine.release).radix_pools) {
      RadixRecommendReport report;
      static_cast<RadixRecommendAnswer&>(report) = recommend_radix_scenario(read, radix_question(wishes), watch);
      return JsonAnswer{render_recommend_radix(report, Format::json), read.notes};
    }
    RecommendReport report;
    static_cast<RecommendAnswer&>(report) = recommend_scenario(read, block_question(wishes), watch);
    return JsonAnswer{render_recommend(report, Format::json), read.notes};
  });
}

}  // namespace

void register_recommend(nb::module_& module) {
  using Wishes = RecommendWishes;
  nb::class_<Wishes>(module, "RecommendWishes")
      .def(nb::init<>())
      .def_rw("at_length", &Wishes::at_length)
      .def_rw("min_concurrency", &Wishes::min_concurrency)
      .def_rw("give_up_percent", &Wishes::give_up_percent)
      .def_rw("packs", &Wishes::packs)
      .def_rw("block_sizes", &Wishes::block_sizes)
      .def_rw("kernel_blocks", &Wishes::kernel_blocks)
      .def_rw("match_units", &Wishes::match_units)
      .def_rw("retentions", &Wishes::retentions)
      .def_rw("keeps_all_checkpoints", &Wishes::keeps_all_checkpoints)
      .def_rw("min_kernel_block", &Wishes::min_kernel_block)
      .def_rw("search", &Wishes::search)
      .def_rw("strategies", &Wishes::strategies)
      .def_rw("ratios", &Wishes::ratios)
      .def_rw("page_sizes", &Wishes::page_sizes)
      .def_rw("track_intervals", &Wishes::track_intervals)
      .def_rw("modes", &Wishes::modes);
  module.def("recommend", recommend_for, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("wishes"),
             nb::arg("progress").none());
}

}  // namespace hybridkv
