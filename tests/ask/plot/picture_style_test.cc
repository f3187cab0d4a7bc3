// The file of a look of one's own: what it says is read, and what cannot be is named.
#include "ask/plot/picture_style.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/scratch_folder.h"
#include "test_paths.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

PictureStyle styled(const std::string& yaml) {
  const ScratchFolder folder;
  return read_picture_style(folder.file("style.yaml", yaml));
}

std::string style_error(const std::string& yaml) {
  try {
    styled(yaml);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("style.yaml"));
  }
  return "";
}

bool style_says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a style holds what its file says, and the usual look where it is silent") {
  const PictureStyle style =
      styled("font: Times New Roman\ntext: 1.2\nlines: ['#111111']\nfills: ['#222222', '#333333']");
  CHECK(style.font == "Times New Roman");
  CHECK(style.text == 1.2);
  CHECK_FALSE(style.width_mm.has_value());
  CHECK(style.line_colours == std::vector<std::string>{"#111111"});
  CHECK(style.fill_colours.size() == 2);
  CHECK(styled("{}").font.empty());
}

TEST_CASE("the sample of the documents is one") {
  const PictureStyle style = read_picture_style(HYBRIDKV_SOURCE_DIR "/docs/samples/paper.yaml");
  CHECK(style.width_mm == 178);
  CHECK(style.line_colours.size() == 3);
}

TEST_CASE("fault: what cannot be in a style is named with its place") {
  CHECK(style_error("font: 'a\"b'").starts_with(
      "style.yaml:1:7: font: 'a\"b' is no name of a font; write one like Times New Roman\n"));
  CHECK(style_says(style_error("text: 3"), "text: 3 is no size of letters; allowed: 0.7 to 1.4"));
  CHECK(style_says(style_error("width_mm: 84"),
                   "width_mm: 84 leaves no letters that can be read; allowed: 120 to 2600"));
  CHECK(style_says(style_error("lines: ['#000000', blue]"), ":1:20: lines: 'blue' is no colour"));
  CHECK(style_says(style_error("colours: ['#000000']"), "colours"));
  CHECK_THROWS_WITH_AS(read_picture_style("no such file.yaml"), "no such file.yaml: no such file", InputError);
}

TEST_CASE("edge: the narrowest and the widest picture are allowed, and so are the smallest and the largest letters") {
  CHECK(styled("width_mm: 120").width_mm == 120);
  CHECK(styled("width_mm: 2600").width_mm == 2600);
  CHECK(style_says(style_error("width_mm: 119.5"), "allowed: 120 to 2600"));
  CHECK(style_says(style_error("width_mm: 2600.5"), "allowed: 120 to 2600"));
  CHECK(styled("text: 0.7").text == 0.7);
  CHECK(styled("text: 1.4").text == 1.4);
}
