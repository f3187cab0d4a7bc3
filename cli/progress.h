#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hybridkv {

/// One line on standard error that says what a long command is doing: only on a terminal (no dumb one), only after a
/// second, gone when the work is done.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `total` steps are finished, `step` begins.
  void update(std::string_view what, std::string_view step, int done, int total);

  /// A bar of what is done, with the rate and the time left; drawn at most ten times a second.
  void bar(std::string_view what, std::int64_t done, std::int64_t total, std::string_view unit);

 private:
  void show(const std::string& line);

  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_;
  double drawn_at_ = 0;  ///< seconds after the start
};

}  // namespace hybridkv
