#pragma once

#include <string>

#include "simulator/trace/trace_file.h"
#include "tests/scratch_folder.h"

namespace hybridkv::testing {

/// A file that lives as long as the test. It lies in a folder of its own: tests run side by side, each in a process.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) : path_(folder_.file("trace", content)) {}
  std::string path() const { return path_; }

 private:
  ScratchFolder folder_;
  std::string path_;
};

/// All requests of a trace, with their runs and dependencies, in one batch.
inline TraceBatch read_all(const TraceFileSpec& spec) {
  TraceFile file(spec);
  TraceBatch all;
  for (TraceBatch batch; file.next(batch);)
    for (TraceRequest request : batch.requests) {
      const auto prompt = batch.prompt(request);
      const auto waits_for = batch.waits_for(request);
      request.first_run = std::ssize(all.runs);
      request.first_dependency = std::ssize(all.dependencies);
      all.runs.insert(all.runs.end(), prompt.begin(), prompt.end());
      all.dependencies.insert(all.dependencies.end(), waits_for.begin(), waits_for.end());
      all.requests.push_back(request);
    }
  return all;
}

}  // namespace hybridkv::testing
