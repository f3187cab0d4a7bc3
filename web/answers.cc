#include "web/answers.h"

#include <array>
#include <string_view>

#include "ask/kernels/kernel_fit.h"
#include "ask/models.h"
#include "ask/plan.h"
#include "base/error.h"
#include "base/suggest.h"
#include "report/models_report.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_report.h"
#include "scenarios/model_import.h"
#include "web/bars.h"
#include "web/budget.h"
#include "web/choices.h"
#include "web/comparison.h"
#include "web/copies.h"
#include "web/derivation.h"
#include "web/error_json.h"
#include "web/figures.h"
#include "web/kernels.h"
#include "web/question.h"
#include "web/replay.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

std::string plan_answer(const Json& json) {
  const Scenario scenario = read_scenario(PageQuestion(json).file());
  PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  const std::vector<KernelCard> kernels = asked_kernels(json);
  for (CachePlan& plan : set.plans) judge_kernels(kernels, plan);
  return render_plan(set, plan_answer(set, scenario), Format::json);
}

std::string explain_answer(const Json& json) {
  const Scenario scenario = read_scenario(PageQuestion(json).file());
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::derived);
  std::string text;
  write_explain({set.model, set.tensor_parallel, set.plans.size(), scenario.model.parameters,
                 [&](std::size_t i) { return set.plans[i]; }},
                Format::json, {}, [&](const std::string& piece) { text += piece; });
  return text;
}

std::string models_answer(const Json&) { return render_models(list_models("", ""), Format::json); }

std::string import_answer(const Json& json) {
  const ImportedModel imported =
      import_model(json.value("path", std::string()), {.name = json.value("name", std::string())});
  return Json{{"model", imported.model.name}, {"layers", imported.model.layers.size()}, {"yaml", imported.yaml},
              {"notes", imported.notes}}
      .dump();
}

struct Reply {
  std::string_view name;
  std::string (*make)(const Json&);
};

constexpr std::array all_answers{
    Reply{"plan", plan_answer},         Reply{"explain", explain_answer}, Reply{"compare", compare_answer},
    Reply{"models", models_answer},     Reply{"import", import_answer},   Reply{"choices", choices_answer},
    Reply{"budget", budget_answer},     Reply{"figures", figures_answer}, Reply{"copies", copies_answer},
    Reply{"simulate", simulate_answer}, Reply{"rates", rates_answer},     Reply{"derivation", derivation_answer},
    Reply{"amounts", amounts_answer},   Reply{"bars", bars_answer},
    Reply{"card", card_answer},         Reply{"first-tokens", first_tokens_answer},
};

std::string answered(const std::string& question) {
  const Json json = Json::parse(question, nullptr, false);
  if (!json.is_object()) throw InputError("a question must be an object of JSON");
  const std::string name = json.value("ask", std::string());
  std::vector<std::string> names;
  for (const Reply& answer : all_answers) {
    if (answer.name == name) return answer.make(json);
    names.emplace_back(answer.name);
  }
  throw InputError("ask: nobody answers '" + name + "'" + suggestion(name, names, "answers:"));
}

}  // namespace

std::string page_answer(const std::string& question) noexcept {
  try {
    return answered(question);
  } catch (const std::exception& error) {
    return error_json(error);
  }
}

}  // namespace hybridkv
