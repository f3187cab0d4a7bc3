// Lines of a file, whatever it ends with.
#include "base/line_reader.h"

#include <doctest/doctest.h>

#include "base/byte_source.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using hybridkv::testing::ScratchFolder;

TEST_CASE("edge: a last line without an end is given once, and behind an end there is no line") {
  const ScratchFolder folder;
  for (const char* end : {"", "\n"}) {
    CAPTURE(std::string(end));
    LineReader reader(open_bytes(folder.file("lines.txt", std::string("first\n\nlast") + end)));
    CHECK(reader.next() == "first");
    CHECK(reader.next() == "");
    CHECK(reader.next() == "last");
    CHECK_FALSE(reader.next());
    CHECK_FALSE(reader.next());
    CHECK(reader.line_number() == 3);
  }
}
