#include "ask/replay/trace.h"

#include <memory>

#include "ask/plan.h"
#include "base/checked.h"
#include "simulator/trace/trace_text.h"

namespace hybridkv {

namespace {

std::int64_t token_bytes_of(const CachePlan& plan) {
  Checked bytes = 0;
  for (const SpecPlan& spec : plan.specs)
    if (spec.role() == SpecRole::attention) bytes += Checked(spec.bytes_per_token) * std::ssize(spec.layers);
  return bytes;
}

}  // namespace

TraceAnswer describe_trace(const TraceSpec& trace, const Scenario* scenario,
                           const std::function<void(const TraceProgress&)>& on_progress) {
  TraceAnswer answer{.trace = describe(trace)};
  if (scenario != nullptr) {
    answer.token_bytes = token_bytes_of(plan_pack(*scenario, 0, PlanDetail::numbers));
    answer.model = scenario->model.name;
    answer.ranks = scenario->engine.tensor_parallel;
  }
  const std::unique_ptr<TraceSource> source = open_trace(trace);
  TraceStatisticsReader reader;
  for (TraceBatch batch; source->next(batch);) {
    reader.consume(batch);
    if (on_progress) on_progress(source->progress());
  }
  answer.statistics = reader.finish();
  if (const auto* file = dynamic_cast<const TraceFile*>(source.get())) {
    answer.form = file->form();
    answer.bad_lines = file->bad_lines();
    answer.uncovered_tokens = file->uncovered_tokens();
  }
  return answer;
}

void write_trace(const TraceSpec& trace, const std::function<void(const std::string&)>& write) {
  const std::unique_ptr<TraceSource> source = open_trace(trace);
  TraceText text;
  std::string lines;
  for (TraceBatch batch; source->next(batch);) {
    lines.clear();
    text.append(batch, lines);
    write(lines);
  }
}

}  // namespace hybridkv
