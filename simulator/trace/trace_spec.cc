#include "simulator/trace/trace_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/checked.h"
#include "base/input_file.h"

namespace hybridkv {

std::unique_ptr<TraceSource> open_trace(const TraceSpec& spec) {
  if (!spec.file.empty())
    return std::make_unique<TraceFile>(TraceFileSpec{.path = spec.file,
                                                     .form = spec.form,
                                                     .skip_bad_lines = spec.skip_bad_lines,
                                                     .max_requests = spec.max_requests});
  if (!spec.prompts.empty()) return std::make_unique<PromptListTrace>(spec.prompts, spec.max_requests);
  SyntheticTraceSpec synthetic = spec.synthetic;
  if (spec.max_requests) synthetic.num_requests = *spec.max_requests;
  return std::make_unique<SyntheticTrace>(synthetic);
}

std::string describe(const TraceSpec& spec) {
  if (!spec.file.empty()) return input_name(spec.file.substr(spec.file.find_last_of('/') + 1));
  if (!spec.prompts.empty()) {
    Checked prompts = 0;
    for (const PromptSpec& prompt : spec.prompts) prompts += prompt.variants;
    const std::int64_t count = prompts;
    return count == 1 ? "a prompt written out" : fmt::format("{} prompts written out", count);
  }
  return fmt::format("a made-up trace of {}, seed {}", traffic_text(spec.synthetic), spec.synthetic.seed);
}

std::string traffic_text(const SyntheticTraceSpec& spec) {
  std::vector<std::string> kinds;
  if (spec.chat_weight > 0) kinds.emplace_back("chats");
  if (spec.agent_weight > 0) kinds.emplace_back("agent loops");
  if (spec.retrieval_weight > 0) kinds.emplace_back("questions over documents");
  if (kinds.empty()) return "no sessions";
  const std::string last = kinds.back();
  kinds.pop_back();
  return kinds.empty() ? last : fmt::format("{} and {}", fmt::join(kinds, ", "), last);
}

}  // namespace hybridkv
