#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/unfinished.h"

namespace hybridkv {

namespace {

/// Descriptors are given out from the lowest one, so the closed ones are filled in order.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong way round: reading the input and writing the others fails, as it does where they are closed.
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) ::close(opened);
  }
}

}  // namespace

void prepare_process() {
  fill_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  clean_up_on_signals();
}

}  // namespace hybridkv
