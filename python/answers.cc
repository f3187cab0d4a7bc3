#include "python/answers.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>

#include "ask/bound.h"
#include "ask/compare.h"
#include "ask/replay_curves.h"
#include "ask/transfer.h"
#include "ask/transfer_proof.h"
#include "ask/verify.h"
#include "base/suggest.h"
#include "python/keywords.h"
#include "python/question.h"
#include "python/tree.h"
#include "python/watched.h"
#include "report/bound_report.h"
#include "report/compare_report.h"
#include "report/json_text.h"
#include "report/rules_text.h"
#include "report/transfer_proof_report.h"
#include "report/transfer_report.h"
#include "report/verify_report.h"
#include "scenarios/hf_config.h"
#include "scenarios/hf_unused.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

using Names = std::vector<std::string>;

/// The faults of these names; "all" stands for every one. `infos`: name and fault of each there is.
template <class Fault, class Infos>
std::vector<std::optional<Fault>> faults_of(const Names& names, const Infos& infos) {
  std::vector<std::optional<Fault>> faults;
  Names known{"all"};
  for (const auto& info : infos) known.emplace_back(info.name);
  for (const std::string& name : names) {
    const std::size_t before = faults.size();
    for (const auto& info : infos)
      if (name == "all" || name == info.name) faults.emplace_back(info.fault);
    if (faults.size() > before) continue;
    const std::string problem = fmt::format("'{}' is no fault{}", name, did_you_mean(name, known));
    throw InputError("inject: " + problem, "inject", problem);
  }
  if (faults.empty()) faults.emplace_back();
  return faults;
}

Planted planted_of(const Names& names) {
  return std::find(names.begin(), names.end(), "all") != names.end() ? Planted::catalogue : Planted::no_or_single;
}

/// Were packs chosen by a keyword? Else the section verify of the scenario says which.
bool chooses_packs(const nb::dict& keys) {
  for (const auto& [name, value] : keys)
    if (key_of_keyword(nb::cast<std::string>(name)) == "engine.attention_pack_size") return true;
  return false;
}

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

Names notes_of(const std::vector<CompareSetting>& settings) {
  Names notes;
  for (const CompareSetting& setting : settings)
    for (const std::string& note : setting.scenario.notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
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
                   const nb::object& progress) {
  std::vector<ScenarioFile> files;
  for (const nb::handle scenario : scenarios) {
    files.push_back(question_of(scenario, keys));
    lay_over(files.back(), vary);
  }
  Names varied;
  for (const auto& [name, value] : vary) {
    const auto keyword = nb::cast<std::string>(name);
    varied.push_back(keyword == "engine" ? "engine.release" : key_of_keyword(keyword));
  }
  return watched(progress, [files = std::move(files), varied = std::move(varied), replays](const Watch& to) {
    const std::vector<CompareSetting> settings = compare_settings(files, varied);
    CompareReplay replay{.wanted = replays, .on_progress = [&](const SweepProgress& at) {
                           to.at("requests", at.requests,
                                 at.fraction > 0 ? static_cast<std::int64_t>(
                                                       static_cast<double>(at.requests) / at.fraction)
                                                 : 0);
                         }};
    return JsonAnswer{render_compare(compare(settings, replay), Format::json), notes_of(settings)};
  });
}

/// What is asked of a transfer beside its sides.
struct TransferWishes {
  std::optional<std::int64_t> tokens;
  std::int64_t present_tokens = 0;
  std::string ids;
  bool as_prefix = false;
  Names convert;
  bool verify = false;
  Names inject;
};

TransferQuestion transfer_question(const ScenarioFile& from, const ScenarioFile& to, const TransferWishes& wishes) {
  TransferQuestion question{.from = read_scenario(from), .to = read_scenario(to)};
  question.tokens = wishes.tokens;
  question.present_tokens = wishes.present_tokens;
  const auto order = parse_id_order(wishes.ids);
  if (!order) throw InputError(fmt::format("ids: '{}' is no order; take scattered or consecutive", wishes.ids));
  question.ids = *order;
  question.as_prefix = wishes.as_prefix;
  for (const std::string& what : wishes.convert) {
    if (what != "dtype" && what != "axes")
      throw InputError(fmt::format("convert: '{}' is nothing that changes on the way; take dtype, axes or both", what));
    (what == "dtype" ? question.options.converts_dtypes : question.options.exchanges_axes) = true;
  }
  return question;
}

JsonAnswer transfer_between(nb::handle from, nb::handle to, const nb::dict& keys, const nb::dict& to_keys,
                        const TransferWishes& wishes, const nb::object& progress) {
  ScenarioFile destination = to.is_none() ? question_of(from, keys) : question_of(to, nb::dict());
  lay_over(destination, to_keys);
  return watched(progress, [source = question_of(from, keys), destination = std::move(destination),
                            wishes](const Watch& watch) {
    const TransferQuestion question = transfer_question(source, destination, wishes);
    const TransferAnswer answer = transfer(question);
    Names notes = question.from.notes;
    notes.insert(notes.end(), question.to.notes.begin(), question.to.notes.end());
    if (!wishes.verify) return JsonAnswer{render_transfer(answer, Format::json), notes};
    const TransferProofQuestion planted{faults_of<TransferFault>(wishes.inject, all_transfer_faults()),
                                        planted_of(wishes.inject)};
    const TransferProofAnswer proof =
        prove(answer, question.from, planted,
              [&](const std::optional<TransferFault>&, std::string_view step, int done, int total) {
                watch.at(step, done, total);
              });
    return JsonAnswer{render_transfer_proof(answer, proof.proofs, Format::json), notes};
  });
}

/// (name of the model, model file, notes) of a config: a path, or what holds one.
std::tuple<std::string, std::string, Names> import_config(nb::handle config, const std::string& name,
                                                          const std::string& dtype) {
  const std::optional<DType> asked = parse_dtype(dtype);
  if (!dtype.empty() && !asked) throw InputError(fmt::format("dtype: '{}' is no element type", dtype));
  if (is_text(config)) {
    ImportedModel imported = import_model(text_of(config), name, asked);
    return {imported.model.name, imported.yaml, imported.notes};
  }
  const YamlNode tree = tree_of(config, {std::make_shared<const SourceText>(SourceText{"config", ".", {}}), 0, 0});
  const YamlNode model = import_hf_config(tree, name.empty() ? "imported" : name, "a config given in Python", asked);
  ReadContext context;
  return {read_model_mapping(context, "model", model).model.name, model_yaml(model), unused_hf_fields(tree, model)};
}

}  // namespace

void register_answers(nb::module_& module) {
  nb::class_<JsonAnswer>(module, "Answer").def_ro("json", &JsonAnswer::json).def_ro("notes", &JsonAnswer::notes);
  module.def("verify", verify, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("inject"),
             nb::arg("progress").none());
  module.def("bound", bound, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("progress").none());
  module.def("compare", compare_all, nb::arg("scenarios"), nb::arg("keys"), nb::arg("vary"), nb::arg("replays"),
             nb::arg("progress").none());
  nb::class_<TransferWishes>(module, "TransferWishes")
      .def(nb::init<>())
      .def_rw("tokens", &TransferWishes::tokens)
      .def_rw("present_tokens", &TransferWishes::present_tokens)
      .def_rw("ids", &TransferWishes::ids)
      .def_rw("as_prefix", &TransferWishes::as_prefix)
      .def_rw("convert", &TransferWishes::convert)
      .def_rw("verify", &TransferWishes::verify)
      .def_rw("inject", &TransferWishes::inject);
  module.def("transfer", transfer_between, nb::arg("source").none(), nb::arg("to").none(), nb::arg("keys"),
             nb::arg("to_keys"), nb::arg("wishes"), nb::arg("progress").none());
  module.def("import_config", import_config, nb::arg("config"), nb::arg("name"), nb::arg("dtype"));
}

}  // namespace hybridkv
