#include "base/output_folder.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;
namespace fs = std::filesystem;
using Names = std::set<std::string>;

TEST_CASE("edge: a folder is made with those around it, and gone again where nothing came into it") {
  const ScratchFolder folder;
  fs::create_directory(folder.path / "mine");
  {
    const OutputFolder made(folder.path / "a" / "b");
    CHECK(fs::is_directory(folder.path / "a" / "b"));
    CHECK(fs::is_empty(folder.path / "a" / "b"));
    const OutputFolder found(folder.path / "mine");
  }
  CHECK(folder.names() == Names{"mine"});
  {
    const OutputFolder made(folder.path / "a" / "b");
    folder.file("a/b/result", "text");
  }
  CHECK(folder.content("a/b/result") == "text");
}

TEST_CASE("edge: what is no folder and cannot be made one is refused before the work") {
  const ScratchFolder folder;
  folder.file("file", "text");
  fs::create_symlink("circle", folder.path / "circle");
  const auto refused = [&](const fs::path& name, const char* reason) {
    CAPTURE(name.string());
    CHECK_THROWS_WITH_AS(OutputFolder{name}, doctest::Contains(reason), InputError);
  };
  refused(folder.path / "file", "file: is no folder and cannot be made one");
  refused(folder.path / "file" / "below", "is no folder and cannot be made one: Not a directory");
  refused(folder.path / "new" / std::string(300, 'x'), "is no folder and cannot be made one: File name too long");
  refused(folder.path / "circle", "is no folder and cannot be made one");
  refused("/proc/self", "cannot be written");  // a folder in which no file can be made
  refused("", "the name of the output folder is empty");
  CHECK(folder.names() == Names{"file", "circle"});
}
