// How much of a file is consumed, whatever becomes of the file meanwhile; and files that a program decompresses.
#include "base/byte_source.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "test_paths.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;

TEST_CASE("edge: of a file that grows while it is read never more than all is consumed, of an empty one nothing") {
  const ScratchFolder scratch;
  const std::string path = scratch.file("trace.jsonl", std::string(100, 'x'));
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  CHECK(source->fraction() == 0);
  char piece[50];
  REQUIRE(source->read(piece, sizeof piece) == 50);
  CHECK(source->fraction() == 0.5);
  // Another program goes on to write it: 400 bytes are read of what were 100 when it was opened.
  std::ofstream(path, std::ios::app) << std::string(300, 'y');
  std::size_t bytes = 50;
  while (const std::size_t count = source->read(piece, sizeof piece)) bytes += count;
  CHECK(bytes == 400);
  CHECK(source->fraction() == 1);
  CHECK(open_bytes(scratch.file("empty.jsonl", ""))->fraction() == 0);
}

TEST_CASE("edge: zstd data is read to its end, though a call before was interrupted") {
  if (std::system("zstd --version > /dev/null 2>&1") != 0) {
    std::puts("SKIPPED: there is no program zstd");
    return;
  }
  const std::string plain = HYBRIDKV_TEST_DATA "/simulator/invented/mooncake.jsonl";
  const auto text_of = [](const std::string& path) {
    const std::unique_ptr<ByteSource> source = open_bytes(path);
    std::string text;
    char piece[4096];
    // What an earlier call left in errno, which those that succeed do not clear, is none of the program's end.
    errno = EINTR;
    while (const std::size_t count = source->read(piece, sizeof piece)) text.append(piece, count);
    return text;
  };
  CHECK_FALSE(text_of(plain).empty());
  CHECK(text_of(plain + ".zst") == text_of(plain));
}
