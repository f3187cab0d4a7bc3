#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace hybridkv {

/// Anything the user's request can cause; `what()` is the whole message for the user.
/// A broken precondition inside hybridkv is a std::logic_error instead and never reaches a user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input: an unusable value in a scenario, model file, flag, trace or tensor file. Exit code 2.
class InputError : public Error {
 public:
  using Error::Error;
  /// `what` is the whole message; `place` ("my.yaml:4:20") and `problem` are the parts of it that programs ask for.
  InputError(const std::string& what, std::string place, std::string problem)
      : Error(what), place_(std::move(place)), problem_(std::move(problem)) {}
  /// Where the value stands; empty where that is unknown.
  const std::string& place() const { return place_; }
  /// What is wrong with it, without the place and the line; empty where the message is nothing else.
  const std::string& problem() const { return problem_; }

 private:
  std::string place_;
  std::string problem_;
};

/// An unusable value of a spec. `path` names the field the way the scenario spells it
/// ("engine.tensor_parallel", "model.layers[3].attention.kv_heads"), so that whoever read the file
/// can add its line and column.
class SpecError : public InputError {
 public:
  SpecError(std::string path, const std::string& message)
      : InputError(path + ": " + message), path_(std::move(path)), message_(message) {}
  const std::string& path() const { return path_; }
  const std::string& message() const { return message_; }

 private:
  std::string path_;
  std::string message_;
};

/// Not enough memory or disk, or the kernel refuses a reservation. Exit code 3.
class ResourceError : public Error {
 public:
  using Error::Error;
};

/// An external program (gnuplot) is missing or failed. Exit code 4.
class ProgramError : public Error {
 public:
  using Error::Error;
};

/// Says which precondition is broken, apart from what checks it: the text is made where it is seldom needed.
[[noreturn]] [[gnu::cold]] [[gnu::noinline]] inline void fail_expectation(const char* what) {
  throw std::logic_error(std::string("precondition broken: ") + what);
}

/// Checks a precondition of a public function; a failure is a bug of the caller. It is inline in every caller, as the
/// checks of a pool of blocks are passed some hundred million times a replay.
[[gnu::always_inline]] constexpr void expects(bool condition, const char* what) {
  if (!condition) fail_expectation(what);
}

}  // namespace hybridkv
