#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/printable.h"
#include "cli/output.h"
#include "report/human.h"

namespace hybridkv {

Progress::Progress(bool quiet)
    : enabled_(!quiet && isatty(STDERR_FILENO) != 0 && !is_dumb_terminal()), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(const std::string& line) {
  shown_ = true;
  // A terminal that has gone is no reason to fail.
  std::fputs(("\r\x1b[K" + line).c_str(), stderr);
  std::fflush(stderr);
}

void Progress::update(std::string_view what, std::string_view step, int done, int total) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!enabled_ || seconds < 1.0) return;
  std::string line = fmt::format("{}: {}/{} {}, {:.0f} s", printable(what), done, total, printable(step), seconds);
  if (done > 0) line += fmt::format(", about {:.0f} s left", seconds * (total - done) / done);
  show(line);
}

void Progress::bar(std::string_view what, std::int64_t done, std::int64_t total, std::string_view unit) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!enabled_ || seconds < 1.0 || seconds - drawn_at_ < 0.1 || total <= 0) return;
  drawn_at_ = seconds;
  constexpr int width = 30;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const int filled = static_cast<int>(share * width);
  const double rate = static_cast<double>(done) / seconds;
  std::string line = fmt::format("{} [{}{}] {:3.0f} %  {} of {} {}, {} a second", what, std::string(filled, '#'),
                                 std::string(width - filled, '.'), 100 * share, human_count(done), human_count(total),
                                 unit, rate < 10 ? human_real(rate, 1) : human_count(static_cast<std::int64_t>(rate)));
  if (done > 0) line += fmt::format(", about {:.0f} s left", seconds * (1 - share) / share);
  show(line);
}

}  // namespace hybridkv
