#pragma once

#include <chrono>
#include <string_view>

namespace hybridkv {

/// One line on standard error that says what a long command is doing: only on a terminal, only after a second,
/// gone when the work is done.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` steps are finished, `step` begins.
  void update(std::string_view what, std::string_view step, int done, int total);

 private:
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace hybridkv
