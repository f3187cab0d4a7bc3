#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <variant>

#include "ask/fleet/fleet.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/policy_library.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_bounds.h"
#include "ask/replay/simulate_request.h"
#include "python/answers.h"
#include "python/own_policy.h"
#include "python/question.h"
#include "python/watched.h"
#include "report/fleet/fleet_report.h"
#include "report/replay/simulate_report.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// What became of a request of a radix tree, without the list of its chunks.
struct TreeRow {
  std::int64_t index, input_length, hit_tokens, kv_match_tokens, branch_tokens, num_chunks, generated, evicted_tokens,
      evicted_states, states_made;
  RequestStatus status;
};

TreeRow row_of(const TreeRecord& record) {
  return {record.index,          record.input_length, record.hit_tokens,     record.kv_match_tokens,
          record.branch_tokens,  std::ssize(record.chunks), record.generated, record.evicted_tokens,
          record.evicted_states, record.states_made,  record.status};
}
const RequestRecord& row_of(const RequestRecord& record) { return record; }
const SlotRecord& row_of(const SlotRecord& record) { return record; }
const SnapshotRecord& row_of(const SnapshotRecord& record) { return record; }

/// A field of a record: name, NumPy's type, byte.
using RecordField = std::tuple<std::string, std::string, std::size_t>;

#define HYBRIDKV_FIELD(type, name, format) fields.emplace_back(#name, format, offsetof(type, name))

std::vector<RecordField> fields_of(const std::vector<RequestRecord>&) {
  std::vector<RecordField> fields;
  HYBRIDKV_FIELD(RequestRecord, index, "i8");
  HYBRIDKV_FIELD(RequestRecord, turn, "i8");
  HYBRIDKV_FIELD(RequestRecord, input_length, "i8");
  HYBRIDKV_FIELD(RequestRecord, output_length, "i8");
  HYBRIDKV_FIELD(RequestRecord, hit_tokens, "i8");
  HYBRIDKV_FIELD(RequestRecord, uncached_common, "i8");
  HYBRIDKV_FIELD(RequestRecord, num_chunks, "i8");
  HYBRIDKV_FIELD(RequestRecord, evictions, "i8");
  HYBRIDKV_FIELD(RequestRecord, generated, "i8");
  HYBRIDKV_FIELD(RequestRecord, preemptions, "i8");
  HYBRIDKV_FIELD(RequestRecord, reprefilled_tokens, "i8");
  HYBRIDKV_FIELD(RequestRecord, arrival_seconds, "f8");
  HYBRIDKV_FIELD(RequestRecord, queue_seconds, "f8");
  HYBRIDKV_FIELD(RequestRecord, first_token_seconds, "f8");
  HYBRIDKV_FIELD(RequestRecord, finish_seconds, "f8");
  HYBRIDKV_FIELD(RequestRecord, status, "i4");
  return fields;
}

std::vector<RecordField> fields_of(const std::vector<TreeRow>&) {
  std::vector<RecordField> fields;
  HYBRIDKV_FIELD(TreeRow, index, "i8");
  HYBRIDKV_FIELD(TreeRow, input_length, "i8");
  HYBRIDKV_FIELD(TreeRow, hit_tokens, "i8");
  HYBRIDKV_FIELD(TreeRow, kv_match_tokens, "i8");
  HYBRIDKV_FIELD(TreeRow, branch_tokens, "i8");
  HYBRIDKV_FIELD(TreeRow, num_chunks, "i8");
  HYBRIDKV_FIELD(TreeRow, generated, "i8");
  HYBRIDKV_FIELD(TreeRow, evicted_tokens, "i8");
  HYBRIDKV_FIELD(TreeRow, evicted_states, "i8");
  HYBRIDKV_FIELD(TreeRow, states_made, "i8");
  HYBRIDKV_FIELD(TreeRow, status, "i4");
  return fields;
}

std::vector<RecordField> fields_of(const std::vector<SlotRecord>&) {
  std::vector<RecordField> fields;
  HYBRIDKV_FIELD(SlotRecord, index, "i8");
  HYBRIDKV_FIELD(SlotRecord, input_length, "i8");
  HYBRIDKV_FIELD(SlotRecord, slot, "i8");
  HYBRIDKV_FIELD(SlotRecord, common_tokens, "i8");
  HYBRIDKV_FIELD(SlotRecord, hit_tokens, "i8");
  HYBRIDKV_FIELD(SlotRecord, checkpoints_made, "i8");
  HYBRIDKV_FIELD(SlotRecord, checkpoints_used, "i8");
  HYBRIDKV_FIELD(SlotRecord, checkpoints_dropped, "i8");
  HYBRIDKV_FIELD(SlotRecord, status, "i4");
  return fields;
}

std::vector<RecordField> fields_of(const std::vector<SnapshotRecord>&) {
  std::vector<RecordField> fields;
  HYBRIDKV_FIELD(SnapshotRecord, index, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, input_length, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, hit_tokens, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, attention_tokens, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, content_tokens, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, branch_tokens, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, num_chunks, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, num_snapshots, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, last_snapshot, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, generated, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, evicted_blocks, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, evicted_states, "i8");
  HYBRIDKV_FIELD(SnapshotRecord, status, "i4");
  return fields;
}
#undef HYBRIDKV_FIELD
static_assert(sizeof(RequestStatus) == 4);

/// Records of all requests of the first cache, in the order in which they ended, by its index.
using AnyRecords = std::variant<std::vector<RequestRecord>, std::vector<TreeRow>, std::vector<SlotRecord>,
                                std::vector<SnapshotRecord>>;

std::size_t item_bytes(const AnyRecords& records) {
  return std::visit([]<class Row>(const std::vector<Row>&) { return sizeof(Row); }, records);
}

void keep(AnyRecords& records, const RecordView& view) {
  std::visit(
      [&](const auto* record) {
        using Row = std::decay_t<decltype(row_of(*record))>;
        if (!std::holds_alternative<std::vector<Row>>(records)) records.emplace<std::vector<Row>>();
        std::get<std::vector<Row>>(records).push_back(row_of(*record));
      },
      view);
}

struct Simulated {
  JsonAnswer answer;
  std::shared_ptr<const AnyRecords> records;
};

/// How far a replay is; of a trace whose length is unknown only how many requests.
void tell(const Watch& to, const SweepProgress& at) {
  const double total = at.fraction > 0 ? static_cast<double>(at.requests) / at.fraction : 0;
  to.at("requests", at.requests, static_cast<std::int64_t>(total + 0.5));
}

Simulated replay(Scenario scenario, bool keeps_records, const Watch& to) {
  const auto records = std::make_shared<AnyRecords>();
  SimulateWatch watch;
  if (scenario.simulate.fleet.is_asked())
    throw SpecError("simulate.fleet.replicas", "several replicas are replayed by hybridkv.fleet; call that");
  if (keeps_records) watch.on_record = [&](const RecordView& record, const ReuseLoss*) { keep(*records, record); };
  watch.on_progress = [&](const SweepProgress& at) { tell(to, at); };
  const std::vector<AnyCache> caches = planned_caches(scenario);
  const std::optional<TimedAnswer> timed = set_clock(scenario, caches.front());
  SimulateAnswer answer = simulate({scenario.simulate, caches, timed}, watch);
  add_bounds(answer, scenario);
  return {{render_simulate(answer, Format::json), scenario.notes}, records};
}

JsonAnswer replay_fleet(Scenario scenario, const Watch& to) {
  FleetWatch watch;
  watch.on_progress = [&](const SweepProgress& at) { tell(to, at); };
  const std::vector<AnyCache> caches = planned_caches(scenario);
  const std::optional<TimedAnswer> timed = set_clock(scenario, caches.front());
  FleetQuestion& fleet = scenario.simulate.fleet;
  if (!fleet.is_asked()) throw SpecError("simulate.fleet.replicas", "say how many replicas there are: replicas=4");
  const FleetAnswer answer =
      simulate_fleet({scenario.simulate, caches, timed}, scenario_bounds(scenario, fleet.replicas), watch);
  return {render_fleet(answer, Format::json), scenario.notes};
}

/// A class of Python, or the file of a compiled policy.
std::shared_ptr<const OwnPolicy> policy_of(const nb::object& policy) {
  if (policy.is_none()) return nullptr;
  if (nb::isinstance<nb::str>(policy)) return policy_of_library(nb::cast<std::string>(policy), "");
  return policy_of_python(policy);
}

/// What `replay` makes of the question.
template <class Replayed>
auto replayed(nb::handle scenario, const nb::dict& keys, const nb::object& policy, const nb::object& progress,
              Replayed replay) {
  const std::shared_ptr<const OwnPolicy> own = policy_of(policy);
  return watched(progress, [file = question_of(scenario, keys), own, replay](const Watch& to) {
    Scenario read = read_scenario(file);
    read.simulate.scheduler.own_policy = own;
    try {
      return replay(read, to);
    } catch (const SpecError& error) {
      throw located(scenario_error(error), read);
    }
  });
}

Simulated simulate_scenario(nb::handle scenario, const nb::dict& keys, bool keeps_records, const nb::object& policy,
                            const nb::object& progress) {
  return replayed(scenario, keys, policy, progress, [keeps_records](const Scenario& read, const Watch& to) {
    return replay(read, keeps_records, to);
  });
}

JsonAnswer fleet_of_scenario(nb::handle scenario, const nb::dict& keys, const nb::object& policy,
                             const nb::object& progress) {
  return replayed(scenario, keys, policy, progress, replay_fleet);
}

/// The bytes of all records, as they lie.
nb::ndarray<nb::numpy, const std::uint8_t> bytes_of(const std::shared_ptr<const AnyRecords>& records) {
  using Held = std::shared_ptr<const AnyRecords>;
  nb::capsule owner(new Held(records), [](void* held) noexcept { delete static_cast<Held*>(held); });
  return std::visit(
      [&](const auto& rows) {
        const std::size_t shape[1] = {rows.size() * sizeof rows[0]};
        return nb::ndarray<nb::numpy, const std::uint8_t>(rows.data(), 1, shape, owner);
      },
      *records);
}

}  // namespace

void register_simulate(nb::module_& module) {
  nb::class_<Simulated>(module, "Simulated")
      .def_ro("answer", &Simulated::answer)
      .def("record_bytes", [](const Simulated& all) { return bytes_of(all.records); })
      .def("record_size", [](const Simulated& all) { return item_bytes(*all.records); })
      .def("record_fields", [](const Simulated& all) {
        return std::visit([](const auto& rows) { return fields_of(rows); }, *all.records);
      });
  module.def("request_statuses", [] {
    std::vector<std::string> names;
    for (const RequestStatus status :
         {RequestStatus::ok, RequestStatus::refused, RequestStatus::too_long, RequestStatus::stalled})
      names.emplace_back(to_string(status));
    return names;
  });
  module.def("simulate", simulate_scenario, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("records"),
             nb::arg("policy").none(), nb::arg("progress").none());
  module.def("fleet", fleet_of_scenario, nb::arg("scenario").none(), nb::arg("keys"), nb::arg("policy").none(),
             nb::arg("progress").none());
  register_prefix(module);
}

}  // namespace hybridkv
