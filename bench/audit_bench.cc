// Speed of the audit of a recording: 12,000 requests that decode, as the program records its own run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "audit/recording_file.h"

namespace {

using namespace hybridkv;
namespace fs = std::filesystem;

/// A recording of so many requests in closed loop, with that fault where it is not empty; gone with the object.
class Recorded {
 public:
  Recorded(std::int64_t requests, const std::string& fault)
      : file_(fs::temp_directory_path() / ("hybridkv-audit-bench-" + std::to_string(requests) + fault + ".jsonl")) {
    const std::string command = "'" HYBRIDKV_PROGRAM "' simulate qwen3.5-397b --pack 1 --driver closed_loop "
                                "--in-flight 32 --requests " + std::to_string(requests) + " --force --record '" +
                                file_.string() + "'" + (fault.empty() ? "" : " --record-fault " + fault) +
                                " >/dev/null";
    made_ = std::system(command.c_str()) == 0;
  }
  ~Recorded() { fs::remove(file_); }
  bool made() const { return made_; }
  std::string path() const { return file_.string(); }

 private:
  fs::path file_;
  bool made_ = false;
};

/// An audit that finds nothing would be quick too: a planted fault must be found first.
void BM_audit(benchmark::State& state) {
  const Recorded wrong(300, "state-of-another-prefix"), right(state.range(0), "");
  if (!wrong.made() || !right.made()) return state.SkipWithError("nothing was recorded");
  if (audit_recording(wrong.path()).is_right()) return state.SkipWithError("a planted fault was not found");
  OwnershipVerdict verdict;
  for (auto _ : state) verdict = audit_recording(right.path());
  if (!verdict.is_right() || verdict.counts.hits == 0) state.SkipWithError("a clean run was not right");
  state.counters["MB"] = static_cast<double>(fs::file_size(right.path())) / 1e6;
  state.counters["requests"] = static_cast<double>(verdict.counts.requests);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(fs::file_size(right.path())));
}
BENCHMARK(BM_audit)->Arg(12'000)->Unit(benchmark::kSecond)->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
