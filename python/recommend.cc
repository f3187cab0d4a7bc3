#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ask/recommend.h"
#include "ask/recommend_commands.h"
#include "ask/replay/checkpoint_advice.h"
#include "base/suggest.h"
#include "python/answers.h"
#include "python/command_words.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/recommend/recommend_report.h"
#include "report/replay/checkpoint_report.h"
#include "scenarios/number.h"
#include "scenarios/simple_traffic.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// How candidates are weighed and what is searched; what is not said is up to the search.
struct RecommendWishes {
  std::optional<std::int64_t> at_length;
  std::optional<double> min_concurrency;
  double give_up_percent = RecommendQuestion{}.give_up_percent;
  SimpleTraffic traffic;
  // The space.
  std::vector<std::int64_t> packs, block_sizes, kernel_blocks, match_units;
  std::vector<std::optional<std::int64_t>> retentions;
  std::optional<std::int64_t> min_kernel_block;
  std::string search;
  std::vector<std::string> strategies;
  std::vector<double> ratios;
  std::vector<std::int64_t> page_sizes, track_intervals, snapshot_intervals, slots, slot_checkpoints, checkpoint_steps,
      cache_rams;
  std::vector<std::string> snapshots;
  std::vector<std::string> modes;
  std::vector<std::string> kernels;  ///< files of their cards
};

/// The value of that name; `names`: of all values.
template <class Value, class Table>
Value named(const char* what, const std::string& name, const Table& table) {
  if (const auto value = value_in(table, name)) return *value;
  const std::string problem = fmt::format("'{}' is none; allowed: {}{}", name, fmt::join(names_of(table), ", "),
                                          did_you_mean(name, names_of(table)));
  throw InputError(fmt::format("{}: {}", what, problem), what, problem);
}

RecommendQuestion recommend_question_of(const RecommendWishes& wishes, const Scenario& scenario, bool packs_chosen) {
  RecommendQuestion question;
  question.spelling = AxisSpelling::keyword;
  if (wishes.at_length && *wishes.at_length < 1)
    throw SpecError("at_length", fmt::format("{} is too small; allowed: whole numbers from 1", *wishes.at_length));
  // Comparisons that are false for nan.
  if (wishes.min_concurrency && !(*wishes.min_concurrency > 0 && *wishes.min_concurrency < most_requests))
    throw SpecError("min_concurrency",
                    fmt::format("{} is no number of requests; allowed: more than 0", *wishes.min_concurrency));
  if (!(wishes.give_up_percent >= 0 && wishes.give_up_percent <= 100))
    throw SpecError("give_up_percent", fmt::format("{} is no share of the default's concurrency; allowed: 0 to 100",
                                                   wishes.give_up_percent));
  question.at_length = wishes.at_length;
  question.min_concurrency = wishes.min_concurrency;
  question.give_up_percent = wishes.give_up_percent;
  question.workload = traffic_text(wishes.traffic);
  SearchSpace& space = question.space;
  for (const std::string& name : wishes.modes) space.modes.push_back(named<CacheMode>("modes", name, cache_mode_names));
  space.packs = wishes.packs;
  if (space.packs.empty() && packs_chosen) space.packs = scenario.pack_sizes;
  for (const std::int64_t size : wishes.block_sizes)
    space.block_floors.push_back(size == 0 ? std::optional<std::int64_t>() : size);
  if (!wishes.match_units.empty()) space.match_units = wishes.match_units;
  space.retentions = wishes.retentions;
  for (const std::string& name : wishes.strategies)
    space.strategies.push_back(named<TreeStrategy>("strategies", name, tree_strategy_names));
  space.ratios = wishes.ratios;
  space.page_sizes = wishes.page_sizes;
  space.track_intervals = wishes.track_intervals;
  for (const std::string& name : wishes.snapshots)
    space.snapshots.push_back(named<SnapshotPlaces>("snapshots", name, snapshot_places_names));
  space.snapshot_intervals = wishes.snapshot_intervals;
  space.slots = wishes.slots;
  space.slot_checkpoints = wishes.slot_checkpoints;
  space.checkpoint_steps = wishes.checkpoint_steps;
  space.cache_rams = wishes.cache_rams;
  question.kernel_blocks = wishes.kernel_blocks;
  question.min_kernel_block = wishes.min_kernel_block;
  question.kernels = read_kernel_cards(wishes.kernels);
  if (!wishes.search.empty() && wishes.search != "auto")
    question.search = named<SearchKind>("search", wishes.search, search_kind_names);
  return question;
}

/// What is asked: the question, and how it is typed for the program.
struct AskedAdvice {
  ScenarioFile file;
  CommandWords words;
};

/// Takes the number of requests out of the keys; by default that of simple traffic.
std::int64_t take_requests(std::vector<AskedKey>& asked) {
  std::int64_t requests = default_simple_requests;
  for (const AskedKey& one : asked) {
    if (one.key != "simulate.trace.max_requests") continue;
    const ParsedNumber number = parse_integer(one.value.text);
    if (!number.problem.empty() || number.value < 1)
      throw SpecError("max_requests", "must be a whole number of requests, at least 1");
    requests = number.value;
  }
  std::erase_if(asked, [](const AskedKey& one) { return one.key == "simulate.trace.max_requests"; });
  return requests;
}

AskedAdvice asked_of(nb::handle scenario, const nb::dict& keys, const SimpleTraffic& traffic) {
  check_traffic(traffic);
  AskedAdvice asked{question_of(scenario, keys), {}};
  std::vector<AskedKey> said = asked_keys(scenario, keys);
  if (!traffic.prompt_tokens) {
    asked.words = command_words(scenario, said);
    return asked;
  }
  for (const AskedKey& one : said)
    if (one.key == "simulate.trace")
      throw SpecError("trace", "prompt_tokens describes the traffic; give one of the two");
  const std::int64_t requests = take_requests(said);
  asked.words = command_words(scenario, said);
  asked.words.replay.push_back({"--prompt-tokens", std::to_string(*traffic.prompt_tokens)});
  if (traffic.shared_prefix_tokens)
    asked.words.replay.push_back({"--shared-prefix-tokens", std::to_string(*traffic.shared_prefix_tokens)});
  apply_override(asked.file, "simulate.trace", traffic_yaml(traffic, requests),
                 fmt::format("prompt_tokens={}", *traffic.prompt_tokens));
  return asked;
}

std::vector<std::string> notes_of(const Scenario& scenario) {
  std::vector<std::string> notes = scenario.notes;
  for (std::string& left_out : left_out_of_search(scenario)) notes.push_back(std::move(left_out));
  return notes;
}

JsonAnswer recommend_for(nb::handle scenario, const nb::dict& keys, const RecommendWishes& wishes,
                         const nb::object& progress) {
  return watched(progress, [asked = asked_of(scenario, keys, wishes.traffic), chosen = chooses_packs(keys),
                            wishes](const Watch& to) {
    const Scenario read = read_scenario(asked.file);
    const auto watch = [&](const RecommendProgress& at) { to.at(at.what, at.done, at.total); };
    RecommendAnswer answer = recommend_scenario(read, recommend_question_of(wishes, read, chosen), watch);
    add_commands(answer, read, asked.words);
    return JsonAnswer{render_recommend(answer, Format::json), notes_of(read)};
  });
}

JsonAnswer checkpoints_for(nb::handle scenario, const nb::dict& keys, const RecommendWishes& wishes,
                           const nb::object& progress) {
  return watched(progress, [asked = asked_of(scenario, keys, wishes.traffic), wishes](const Watch&) {
    const Scenario read = read_scenario(asked.file);
    return JsonAnswer{render_checkpoints(advise_checkpoints(read, wishes.retentions), Format::json), read.notes};
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
      .def_prop_rw(
          "prompt_tokens", [](const Wishes& wishes) { return wishes.traffic.prompt_tokens; },
          [](Wishes& wishes, std::optional<std::int64_t> tokens) { wishes.traffic.prompt_tokens = tokens; })
      .def_prop_rw(
          "shared_prefix_tokens", [](const Wishes& wishes) { return wishes.traffic.shared_prefix_tokens; },
          [](Wishes& wishes, std::optional<std::int64_t> tokens) { wishes.traffic.shared_prefix_tokens = tokens; })
      .def_rw("packs", &Wishes::packs)
      .def_rw("block_sizes", &Wishes::block_sizes)
      .def_rw("kernel_blocks", &Wishes::kernel_blocks)
      .def_rw("match_units", &Wishes::match_units)
      .def_rw("retentions", &Wishes::retentions)
      .def_rw("min_kernel_block", &Wishes::min_kernel_block)
      .def_rw("search", &Wishes::search)
      .def_rw("strategies", &Wishes::strategies)
      .def_rw("ratios", &Wishes::ratios)
      .def_rw("page_sizes", &Wishes::page_sizes)
      .def_rw("track_intervals", &Wishes::track_intervals)
      .def_rw("snapshots", &Wishes::snapshots)
      .def_rw("snapshot_intervals", &Wishes::snapshot_intervals)
      .def_rw("slots", &Wishes::slots)
      .def_rw("slot_checkpoints", &Wishes::slot_checkpoints)
      .def_rw("checkpoint_steps", &Wishes::checkpoint_steps)
      .def_rw("cache_rams", &Wishes::cache_rams)
      .def_rw("modes", &Wishes::modes)
      .def_rw("kernels", &Wishes::kernels);
  module.def("recommend", recommend_for, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("wishes"),
             nb::arg("progress").none());
  module.def("checkpoints", checkpoints_for, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("wishes"),
             nb::arg("progress").none());
}

}  // namespace hybridkv
