#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "simulator/trace/trace_file.h"

namespace hybridkv::testing {

/// A file that lives as long as the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("hybridkv_trace_" + std::to_string(++count_) + "_" +
                                                        std::to_string(std::rand()))) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  inline static int count_ = 0;
  std::filesystem::path path_;
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
