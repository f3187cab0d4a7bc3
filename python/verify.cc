#include "ask/verify.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ask/forward.h"
#include "python/answers.h"
#include "python/faults.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/json_text.h"
#include "report/plan/rules_text.h"
#include "report/proof/forward_report.h"
#include "report/proof/verify_report.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Names = std::vector<std::string>;

JsonAnswer verify(nb::handle scenario, const nb::dict& keys, const Names& inject, const nb::object& progress) {
  return watched(progress, [file = question_of(scenario, keys), chosen = chooses_packs(keys), inject](const Watch& to) {
    const Scenario read = read_scenario(file);
    const VerifyQuestion question{.pack_sizes = verified_packs(read, chosen),
                                  .faults = faults_of<Fault>(inject, all_faults()),
                                  .planted = planted_of(inject),
                                  .export_folder = {}};
    const VerifyAnswer answer = verify_scenario(
        read, question,
        [&](const CachePlan& plan, const std::optional<Fault>&, std::string_view step, int done, int total) {
          to.at(fmt::format("N = {}, {}", plan.attention_pack_size, step), done, total);
        });
    return JsonAnswer{render_verify({answer.plans.model, rules_text(read.engine)}, answer.reports, Format::json),
                      read.notes};
  });
}

std::vector<ForwardCase> cases_of(const Names& names) {
  std::vector<ForwardCase> cases;
  for (const std::string& name : names) {
    Names known;
    const std::size_t before = cases.size();
    for (const ForwardCase one : all_forward_cases()) {
      if (to_string(one) == name) cases.push_back(one);
      known.emplace_back(to_string(one));
    }
    if (cases.size() == before) throw unknown_name("cases", name, "case", known);
  }
  return cases;
}

std::vector<ForwardPlant> plants_of(const Names& names, const EngineRules& rules) {
  std::vector<ForwardPlant> plants;
  for (const std::string& name : names) {
    const std::vector<ForwardPlant> one = forward_plants(name, rules);
    if (one.empty()) {
      Names known = fault_names(all_faults());
      for (const ForwardFault fault : forward_faults_of(rules)) known.emplace_back(to_string(fault));
      throw unknown_name("inject", name, "fault", known);
    }
    plants.insert(plants.end(), one.begin(), one.end());
  }
  return plants;
}

JsonAnswer verify_network(nb::handle scenario, const nb::dict& keys, std::optional<std::int64_t> scale,
                          const Names& cases, const Names& inject, const nb::object& progress) {
  return watched(progress, [file = question_of(scenario, keys), chosen = chooses_packs(keys), scale, cases,
                            inject](const Watch& to) {
    const Scenario read = read_scenario(file);
    const std::vector<ForwardTask> tasks = forward_tasks(read, chosen);
    ForwardSpec plain;
    plain.scale = scale.value_or(plain.scale);
    plain.cases = cases_of(cases);
    const std::vector<ForwardSpec> specs = forward_specs(plain, plants_of(inject, *read.engine.rules));
    const ForwardAnswer answer =
        forward(tasks, specs, planted_of(inject), [&](const ForwardTask& task, std::size_t run, int done, int total) {
          to.at(fmt::format("N = {}, run {} of {}", task.engine.attention_pack_size, run + 1,
                            tasks.size() * specs.size()),
                done, total);
        });
    return JsonAnswer{render_forward(answer.reports, Format::json), read.notes};
  });
}

}  // namespace

void register_verify(nb::module_& module) {
  module.def("verify", verify, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("inject"),
             nb::arg("progress").none());
  module.def("verify_network", verify_network, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("scale").none(),
             nb::arg("cases"), nb::arg("inject"), nb::arg("progress").none());
}

}  // namespace hybridkv
