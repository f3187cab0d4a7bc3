#include "python/plans.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "ask/whose.h"
#include "python/kept_models.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/plan/explain_report.h"
#include "report/plan/whose_report.h"
#include "report/plan/plan_json.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Number = std::optional<std::int64_t>;

const CachePlan& plan_at(const Plans& plans, std::size_t index) { return plans.set->plans.at(index); }

Number only_arena(const CachePlan& plan, std::int64_t (*number)(const ArenaPlan&)) {
  return plan.arenas.size() == 1 ? Number(number(plan.arenas.front())) : Number();
}

/// Numbers that are read without any JSON in between; None where the plan has no such number.
void register_numbers(nb::class_<Plans>& plans) {
  plans.def("num_blocks", [](const Plans& all, std::size_t i) {
    return only_arena(plan_at(all, i), [](const ArenaPlan& arena) { return arena.num_ids; });
  });
  plans.def("usable_blocks", [](const Plans& all, std::size_t i) {
    return only_arena(plan_at(all, i), [](const ArenaPlan& arena) { return arena.usable_ids(); });
  });
  plans.def("page_bytes", [](const Plans& all, std::size_t i) {
    const CachePlan& plan = plan_at(all, i);
    return plan.is_uniform() ? Number(plan.page_bytes()) : Number();
  });
  plans.def("attention_pack_size", [](const Plans& all, std::size_t i) { return plan_at(all, i).attention_pack_size; });
  plans.def("max_fitting_tokens", [](const Plans& all, std::size_t i) { return plan_at(all, i).max_fitting_tokens; });
  plans.def("max_running_requests",
            [](const Plans& all, std::size_t i) { return plan_at(all, i).max_running_requests; });
}

/// Compact JSON of everything.
std::string json_of(const Plans& plans) {
  return to_json(*plans.set).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

struct PlannedSet {
  Plans plans;
  std::vector<std::string> notes;
};

/// `kernels`: files of cards, each of which every plan is held against; none unless `full`.
PlannedSet plan(nb::handle scenario, const nb::dict& keys, bool full, const std::vector<std::string>& kernels) {
  return watched(nb::none(), [file = question_of(scenario, keys), full, kernels](const Watch&) {
    const std::vector<KernelCard> cards = read_kernel_cards(kernels);
    const Scenario read = read_scenario(file);
    PlanSet set = plan_scenario(read, read.pack_sizes, full ? PlanDetail::full : PlanDetail::numbers);
    for (CachePlan& one : set.plans) judge_kernels(cards, one);
    return PlannedSet{{std::make_shared<const PlanSet>(std::move(set))}, read.notes};
  });
}

/// `number`: the one that is asked for, as it was printed; empty: every number.
std::string explain(nb::handle scenario, const nb::dict& keys, const std::string& number, const std::string& format) {
  std::optional<AskedNumber> asked;
  if (!number.empty()) asked = read_asked_number(number);
  return watched(nb::none(), [file = question_of(scenario, keys), asked, format](const Watch&) {
    const Scenario read = read_scenario(file);
    const PlanSet checked = plan_scenario(read, read.pack_sizes, PlanDetail::summary);
    const auto at = [&](std::size_t i) { return plan_pack(read, i, PlanDetail::derived); };
    std::string text;
    write_explain({checked.model, checked.tensor_parallel, checked.plans.size(), read.model.parameters, at, asked},
                  *parse_format(format), {}, [&](const std::string& piece) { text += piece; });
    return text;
  });
}

std::string whose(nb::handle scenario, const nb::dict& keys, std::int64_t pool, std::int64_t byte) {
  return watched(nb::none(), [file = question_of(scenario, keys), pool, byte](const Watch&) {
    return render_whose(whose_byte(read_scenario(file), pool, byte), Format::json);
  });
}

}  // namespace

void register_plans(nb::module_& module) {
  nb::class_<Plans> plans(module, "Plans");
  plans.def("__len__", [](const Plans& all) { return all.set->plans.size(); });
  plans.def("json", json_of);
  register_numbers(plans);
  nb::class_<PlannedSet>(module, "PlannedSet").def_ro("plans", &PlannedSet::plans).def_ro("notes", &PlannedSet::notes);
  module.def("plan", plan, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("full"),
             nb::arg("kernels"));
  module.def("plan_numbers", [](const nb::dict& keys) -> std::optional<Plans> {
    std::optional<PlanSet> set = plan_of_kept_model(keys);
    if (!set) return std::nullopt;
    return Plans{std::make_shared<const PlanSet>(std::move(*set))};
  });
  module.def("explain", explain, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("number"),
             nb::arg("format"));
  module.def("whose", whose, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("pool"), nb::arg("byte"));
}

}  // namespace hybridkv
