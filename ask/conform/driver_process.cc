#include "ask/conform/driver_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr int most_wait_ms = 3'600'000;
constexpr int no_such_program = 127;

ResourceError start_refused(const std::string& name) {
  return ResourceError(fmt::format("{}: cannot be started: {}", name, std::strerror(errno)));
}

/// What the child does between fork and exec, where only calls that are safe in signal handlers may stand.
[[noreturn]] void become(char* const* words, int socket, int errors) {
  if (dup2(socket, STDIN_FILENO) >= 0 && dup2(socket, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
    execvp(words[0], words);
  _exit(no_such_program);
}

}  // namespace

DriverProcess::DriverProcess(const std::vector<std::string>& words) : name_(words.front()) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw start_refused(name_);
  socket_ = ends[0];
  errors_ = memfd_create("driver", MFD_CLOEXEC);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = errors_ < 0 ? -1 : fork();
  if (process_ == 0) become(arguments.data(), ends[1], errors_);
  const int problem = errno;
  close(ends[1]);
  if (process_ >= 0) return;
  close(socket_);
  if (errors_ >= 0) close(errors_);
  errno = problem;
  throw start_refused(name_);
}

DriverProcess::~DriverProcess() {
  close(socket_);
  close(errors_);
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void DriverProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail("ended before it was asked everything");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string DriverProcess::receive() {
  for (;;) {
    if (const std::size_t end = waiting_.find('\n'); end != std::string::npos) {
      std::string line = waiting_.substr(0, end);
      waiting_.erase(0, end + 1);
      return line;
    }
    pollfd readable{socket_, POLLIN, 0};
    const int ready = poll(&readable, 1, most_wait_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      kill(process_, SIGKILL);
      fail("said nothing for an hour");
    }
    std::array<char, 65'536> piece{};
    const ssize_t got = read(socket_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("ended before it had answered");
    waiting_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void DriverProcess::fail(const std::string& what) {
  int status = 0;
  shutdown(socket_, SHUT_RDWR);  // a driver that only closed its output ends as it reads no more
  const pid_t ended = waitpid(process_, &status, 0);
  process_ = -1;
  const bool missing = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == no_such_program;
  if (missing && last_words().empty())
    throw ProgramError(fmt::format("{}: cannot be run; --python names the interpreter of the environment that the "
                                   "engine is installed in", name_));
  throw InputError(fmt::format("the driver in {} {}{}", name_, what, last_words()));
}

std::string DriverProcess::last_words() const {
  constexpr std::size_t most_bytes = 2000;
  std::array<char, most_bytes> tail{};
  const off_t size = lseek(errors_, 0, SEEK_END);
  const off_t first = size > static_cast<off_t>(most_bytes) ? size - static_cast<off_t>(most_bytes) : 0;
  const ssize_t got = pread(errors_, tail.data(), tail.size(), first);
  if (got <= 0) return "";
  std::string text(tail.data(), static_cast<std::size_t>(got));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return ": " + text;
}

}  // namespace hybridkv
