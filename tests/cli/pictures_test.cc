// The pictures of the documents are those that the program draws, to the byte.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "test_paths.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
namespace fs = std::filesystem;

namespace {

/// The gnuplot that drew those of docs/plots which are its own; another one places its letters otherwise.
constexpr const char* drawn_by = "gnuplot 5.4 patchlevel 4";

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What gnuplot writes begins another way than the program's own pictures.
bool is_of_gnuplot(const std::string& picture) {
  return picture.starts_with("<?xml version=\"1.0\" encoding=\"utf-8\"  ");
}

std::set<std::string> pictures_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".svg") names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("golden: the pictures of the documents are those that docs/make-plots.sh draws") {
  const std::string gnuplot = run_shell("gnuplot --version").output;
  if (!contains(gnuplot, "gnuplot")) {
    MESSAGE("skipped: there is no gnuplot");
    return;
  }
  const ScratchFolder drawn;
  const fs::path documents = fs::path(HYBRIDKV_SOURCE_DIR) / "docs";
  const ProgramRun run =
      run_shell("'" + (documents / "make-plots.sh").string() + "' '" + drawn.path.string() + "'");
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  const std::set<std::string> names = pictures_in(documents / "plots");
  CHECK(pictures_in(drawn.path) == names);
  int own = 0;
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string shipped = bytes_of(documents / "plots" / name);
    own += !is_of_gnuplot(shipped);
    if (is_of_gnuplot(shipped) && !contains(gnuplot, drawn_by)) continue;
    CHECK((bytes_of(drawn.path / name) == shipped));
  }
  CHECK(own >= 5);
  if (!contains(gnuplot, drawn_by)) MESSAGE("those that gnuplot draws are not compared: they were drawn by ", drawn_by);
}
