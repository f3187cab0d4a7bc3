// Files and streams as inputs: a stream is read once and kept.
#include "base/input_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/line_reader.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;

namespace {

std::string content_of(const std::string& path) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  std::string content;
  char piece[1000];
  while (const std::size_t count = source->read(piece, sizeof piece)) content.append(piece, count);
  return content;
}

}  // namespace

TEST_CASE("regression: a pipe is read once, and every later call reads the same from its start") {
  const ScratchFolder scratch;
  const std::string pipe = (scratch.path / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  std::thread writer([&] { std::ofstream(pipe) << text; });
  const std::string first = content_of(pipe);
  writer.join();
  CHECK(first == text);
  const std::unique_ptr<ByteSource> again = open_bytes(pipe), raw = open_raw_bytes(pipe);
  char start[3] = {};
  CHECK(again->read(start, 2) == 2);
  CHECK(std::string(start) == "0\n");
  CHECK(raw->read(start, 2) == 2);
  CHECK(std::string(start) == "0\n");
  CHECK(content_of(pipe) == text);
}

TEST_CASE("edge: a pipe is kept in the folder that TMPDIR names, and a refusal of that folder names it") {
  const ScratchFolder scratch;
  const std::string pipe = (scratch.path / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const char* const before = std::getenv("TMPDIR");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/proc", 1);  // a folder in which nobody makes a file
  std::thread writer([&] { std::ofstream opened(pipe); });
  CHECK_THROWS_WITH_AS(open_input(pipe), doctest::Contains("/pipe can be read but once and is kept in /proc: "),
                       ResourceError);
  writer.join();
  if (before == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", saved.c_str(), 1);
}

TEST_CASE("edge: folders, files that are not there and endless devices are refused with their name") {
  const ScratchFolder scratch;
  const std::string folder = scratch.path.string();
  CHECK_THROWS_WITH_AS(open_input(folder), ("cannot read " + folder + ": it is a directory").c_str(), InputError);
  CHECK_THROWS_WITH_AS(open_input(folder + "/none"),
                       ("cannot read " + folder + "/none: No such file or directory").c_str(), InputError);
  CHECK_THROWS_WITH_AS(
      open_input("/dev/zero"),
      "/dev/zero delivers more than 67108864 bytes (64.00 MiB), too much to keep; save it as a file and "
      "name that",
      InputError);
  CHECK(content_of("/dev/null").empty());
}

TEST_CASE("edge: a line longer than any request's is refused, not read into all the memory there is") {
  const ScratchFolder scratch;
  const std::string path = scratch.file("long.jsonl", "short\n" + std::string(5000, 'x') + "\n");
  LineReader fits(open_bytes(path), 16, 6000);
  CHECK(fits.next() == "short");
  CHECK(fits.next()->size() == 5000);
  LineReader reader(open_bytes(path), 16, 4000);
  CHECK(reader.next() == "short");
  CHECK_THROWS_WITH_AS(reader.next(), doctest::Contains("long.jsonl:2: the line has more than 4000 bytes"), InputError);
}
