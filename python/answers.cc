#include "python/answers.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>

#include "ask/compare/compare.h"
#include "ask/plot/replay_curves.h"
#include "ask/replay/bound.h"
#include "base/add_once.h"
#include "python/keywords.h"
#include "python/question.h"
#include "python/tree.h"
#include "python/watched.h"
#include "report/compare_report.h"
#include "report/replay/bound_report.h"
#include "scenarios/hf_config.h"
#include "scenarios/hf_unused.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"
#include "simulator/trace/trace_spec.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Names = std::vector<std::string>;

Names notes_of(const std::vector<CompareSetting>& settings) {
  Names notes;
  for (const CompareSetting& setting : settings)
    for (const std::string& note : setting.scenario.notes)
      add_once(notes, note);
  return notes;
}

JsonAnswer bound(nb::handle scenario, const nb::dict& keys, const nb::object& progress) {
  return watched(progress, [file = question_of(scenario, keys)](const Watch& to) {
    const std::vector<CompareSetting> settings = compare_settings({file}, {}, 1);
    const std::vector<BoundAnswer> answers =
        bounds(settings, [&](int done, int total) { to.at("layouts", done, total); });
    const TraceSpec& trace = settings.front().scenario.simulate.trace;
    return JsonAnswer{render_bound(answers, trace_text(trace), Format::json), notes_of(settings)};
  });
}

/// `scenarios`: at least one; `vary`: keywords and lists of values, of which every combination is a setting.
JsonAnswer compare_all(const nb::list& scenarios, const nb::dict& keys, const nb::dict& vary, bool replays,
                   const Names& kernels, const nb::object& progress) {
  std::vector<ScenarioFile> files;
  for (const nb::handle scenario : scenarios) {
    files.push_back(question_of(scenario, keys));
    lay_over(files.back(), vary);
  }
  Names varied;
  for (const auto& [name, value] : vary) {
    if (value.is_none()) continue;  // as not given
    const std::string keyword = text_of(name);
    varied.push_back(keyword == "engine" ? "engine.release" : key_of_keyword(keyword));
  }
  return watched(progress, [files = std::move(files), varied = std::move(varied), replays, kernels](const Watch& to) {
    const std::vector<CompareSetting> settings = compare_settings(files, varied);
    CompareReplay replay{.wanted = replays, .on_progress = [&](const SweepProgress& at) {
                           to.at("requests", at.requests,
                                 at.fraction > 0 ? static_cast<std::int64_t>(
                                                       static_cast<double>(at.requests) / at.fraction)
                                                 : 0);
                         }};
    const CompareAnswer answer = compare(settings, replay, read_kernel_cards(kernels));
    return JsonAnswer{render_compare(answer, Format::json), notes_of(settings)};
  });
}

/// (name of the model, model file, notes) of a config: a path, or what holds one.
std::tuple<std::string, std::string, Names> import_config(nb::handle config, const std::string& name,
                                                          const std::string& dtype) {
  const std::optional<DType> asked = parse_dtype(dtype);
  if (!dtype.empty() && !asked) throw InputError(fmt::format("dtype: '{}' is no element type", dtype));
  if (is_text(config)) {
    ImportedModel imported = import_model(text_of(config), {.name = name, .dtype = asked});
    return {imported.model.name, imported.yaml, imported.notes};
  }
  const YamlNode tree = tree_of(config, {std::make_shared<const SourceText>(SourceText{"config", ".", {}}), 0, 0});
  const HfFields fields = hf_fields(tree, "");
  const YamlNode model = import_hf_fields(fields, name.empty() ? "imported" : name, "a config given in Python", asked);
  ReadContext context;
  return {read_model_mapping(context, "model", model).model.name, model_yaml(model), unused_hf_fields(fields, model)};
}

}  // namespace

void register_answers(nb::module_& module) {
  nb::class_<JsonAnswer>(module, "Answer").def_ro("json", &JsonAnswer::json).def_ro("notes", &JsonAnswer::notes);
  module.def("bound", bound, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("progress").none());
  module.def("compare", compare_all, nb::arg("scenarios"), nb::arg("keys"), nb::arg("vary"), nb::arg("replays"),
             nb::arg("kernels"), nb::arg("progress").none());
  module.def("import_config", import_config, nb::arg("config"), nb::arg("name"), nb::arg("dtype"));
}

}  // namespace hybridkv
