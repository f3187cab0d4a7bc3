// The section `simulate` of a scenario, up to a replay of its first requests.
#include <algorithm>

#include "ask/replay/simulate_request.h"
#include "fuzz/harness.h"
#include "scenarios/read.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/trace_spec.h"

using namespace hybridkv;

namespace {

constexpr std::int64_t most_requests = 12;

/// Fewer shared texts, each of which is drawn before the first request; what is out of range stays so.
void shorten(std::int64_t& num_texts) {
  if (num_texts <= 10'000'000) num_texts = std::min<std::int64_t>(num_texts, 100);
}

void replay(const SimulateRequest& request, std::int64_t state_groups) {
  TraceSpec spec = request.trace;
  if (!spec.file.empty()) return;  // files have a fuzzer of their own
  spec.max_requests = std::min(spec.max_requests.value_or(most_requests), most_requests);
  shorten(spec.synthetic.num_documents);
  shorten(spec.synthetic.num_system_prompts);
  const CacheGeometry geometry = with_settings(
      {.block_size_tokens = 64, .num_blocks = 50, .attention_groups = 1, .state_groups = state_groups}, request);
  const auto trace = open_trace(spec);
  Simulation simulation(geometry, request.driver);
  for (TraceBatch batch; trace->next(batch);) simulation.consume(batch);
  const SimulationStats stats = simulation.finish();
  fuzz::require(stats.requests <= most_requests, "more requests than were asked for");
  fuzz::require(stats.hit_tokens <= stats.prompt_tokens, "more tokens hit than there are");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Input(data, size).rest();
  Scenario scenario;
  const bool is_section = fuzz::accepts(
      [&] { scenario = read_simulate_section(parse_scenario(text, "fuzz.yaml", "no-such-folder")); });
  if (!is_section) return 0;
  fuzz::require(!describe(scenario.simulate.trace).empty(), "a trace without a name");
  for (const std::int64_t state_groups : {0, 1}) fuzz::accepts([&] { replay(scenario.simulate, state_groups); });
  return 0;
}
