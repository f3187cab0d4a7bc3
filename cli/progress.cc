#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace hybridkv {

Progress::Progress(bool quiet)
    : enabled_(!quiet && isatty(STDERR_FILENO) != 0), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::string_view what, std::string_view step, int done, int total) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!enabled_ || seconds < 1.0) return;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}: {}/{} {}, {:.0f} s", what, done, total, step, seconds);
  if (done > 0) fmt::print(stderr, ", about {:.0f} s left", seconds * (total - done) / done);
  std::fflush(stderr);
}

}  // namespace hybridkv
