// A trace as JSON Lines. The first byte chooses the form, 0 for the one that is found, and whether damaged lines are
// skipped.
#include "fuzz/harness.h"
#include "fuzz/trace_checks.h"

using namespace hybridkv;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t choice = input.byte();
  static const fuzz::MemoryFile file;
  file.write(input.rest());
  TraceFileSpec spec{.path = file.path(), .skip_bad_lines = (choice & 1) != 0};
  const std::size_t form = (choice >> 1) % (trace_form_names.size() + 1);
  if (form > 0) spec.form = trace_form_names[form - 1].value;
  const auto all = fuzz::read_trace(spec);
  if (!all || all->requests.empty()) return 0;
  spec.max_requests = std::ssize(all->requests);
  fuzz::require(fuzz::read_trace(spec) == all, "the first requests of a trace are others than its requests");
  return 0;
}
