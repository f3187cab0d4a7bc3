#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ask/audit.h"
#include "ask/models.h"
#include "ask/replay/trace.h"
#include "ask/start/boot.h"
#include "ask/start/boot_words.h"
#include "ask/start/doctor.h"
#include "base/shell_word.h"
#include "python/answers.h"
#include "python/command_words.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/audit_report.h"
#include "report/boot_report.h"
#include "report/doctor_report.h"
#include "report/models_report.h"
#include "report/replay/trace_report.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

JsonAnswer boot_for(nb::handle scenario, const nb::dict& keys, BootWords words,
                    const std::vector<std::string>& kernels, const nb::object& progress) {
  words.are_keywords = true;
  const CommandWords said = command_words(scenario, asked_keys(scenario, keys));
  return watched(progress, [file = question_of(scenario, keys), said, words, kernels](const Watch&) {
    BootQuestion question;
    question.scenario_word = said.scenario.empty() ? "" : shell_word(said.scenario);
    question.typed = typed_flags(said, words);
    const std::optional<SaidMemory> memory = take_words(question, words);
    question.file = file;
    if (memory) apply_override(question.file, "engine.memory", std::to_string(memory->bytes), memory->shown);
    question.kernels = read_kernel_cards(kernels);
    if (!kernels.empty()) question.typed.emplace_back("--kernels", shell_list(kernels));
    const BootAnswer answer = boot(question);
    return JsonAnswer{render_boot(answer, Format::json), {}};
  });
}

/// `scenario` and `keys` as of any question; where they name no model, distances have no bytes.
JsonAnswer trace_for(nb::handle scenario, const nb::dict& keys, bool planned, const nb::object& progress) {
  return watched(progress, [file = question_of(scenario, keys), planned](const Watch& to) {
    const Scenario read = planned ? read_scenario(file) : read_simulate_section(file);
    const auto tell = [&](const TraceProgress& at) { to.at("requests", at.requests, 0); };
    return JsonAnswer{render_trace(describe_trace(read.simulate.trace, planned ? &read : nullptr, tell), Format::json),
                      read.notes};
  });
}

/// `trace`: the file of the requests that the engine had; empty: they are not known.
JsonAnswer doctor_for(const std::string& log, const nb::dict& keys, const std::string& trace,
                      const nb::object& progress) {
  CommandWords said = command_words(nb::none(), asked_keys(nb::none(), keys));
  said.value_of("limits.max_model_len").clear();  // commands to try have the length of the log
  return watched(progress, [file = question_of(nb::none(), keys), said, log, trace](const Watch& to) {
    DoctorQuestion question{.log = read_startup_log(log), .log_name = log, .asked = file, .typed = shell_words(said)};
    if (!trace.empty()) {
      apply_override(question.asked, "simulate.trace", "{file: " + yaml_quoted(trace) + "}", "trace " + trace);
      question.trace_words = "--trace " + shell_word(trace);
    }
    question.on_progress = [&](const SweepProgress& at) { to.at("requests", at.requests, 0); };
    return JsonAnswer{render_doctor(doctor(question), Format::json), {}};
  });
}

JsonAnswer recording_audit_for(const std::string& recording, const nb::object& progress) {
  return watched(progress, [recording](const Watch& to) {
    const auto tell = [&](std::int64_t, int percent) { to.at("per cent of the recording", percent, 100); };
    return JsonAnswer{render_audit(audit_cache(recording, tell), Format::json), {}};
  });
}

}  // namespace

void register_start(nb::module_& module) {
  nb::class_<BootWords>(module, "BootWords")
      .def(nb::init<>())
      .def_rw("gpu", &BootWords::gpu)
      .def_rw("gpu_memory", &BootWords::gpu_memory)
      .def_rw("utilization", &BootWords::utilization)
      .def_rw("weights", &BootWords::weights)
      .def_rw("beside", &BootWords::beside)
      .def_rw("available_memory", &BootWords::available)
      .def_rw("max_num_seqs", &BootWords::max_num_seqs)
      .def_rw("enforce_eager", &BootWords::enforce_eager);
  module.def("boot", boot_for, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("words"),
             nb::arg("kernels"), nb::arg("progress").none());
  module.def("trace", trace_for, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("planned"),
             nb::arg("progress").none());
  module.def("doctor", doctor_for, nb::arg("log"), nb::arg("keys"), nb::arg("trace"), nb::arg("progress").none());
  module.def("audit_recording", recording_audit_for, nb::arg("recording"), nb::arg("progress").none());
  module.def("models", [](const std::string& name, const std::string& family) {
    return render_models(list_models(name, family), Format::json);
  });
}

}  // namespace hybridkv
