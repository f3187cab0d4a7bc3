#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hybridkv {

/// A program that is spoken to in lines through its standard input and output. What it says on standard error is kept
/// for the message where it dies.
class DriverProcess {
 public:
  /// Starts it, by no shell. Throws ProgramError where there is no such program, ResourceError where the system starts
  /// none.
  explicit DriverProcess(const std::vector<std::string>& words);
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;
  /// Ends it if it still runs.
  ~DriverProcess();

  /// Sends a line.
  void send(const std::string& line);
  /// The next line it says, without its end. Throws InputError with its last words where it has ended, or says nothing
  /// for an hour.
  std::string receive();

 private:
  [[noreturn]] void fail(const std::string& what);
  std::string last_words() const;

  std::string name_;
  pid_t process_ = -1;
  int socket_ = -1;
  int errors_ = -1;
  std::string waiting_;  ///< what came behind the last line
};

}  // namespace hybridkv
