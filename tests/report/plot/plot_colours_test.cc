#include "report/plot/plot_colours.h"

#include <doctest/doctest.h>

#include <set>

using namespace hybridkv;

TEST_CASE("law: no two series of a picture share a colour, however many there are") {
  for (std::size_t looks = 1; looks <= 72; ++looks) {
    std::set<std::string> colours;
    for (std::size_t look = 0; look < looks; ++look) colours.insert(line_colour(look, looks));
    CAPTURE(looks);
    CHECK(colours.size() == looks);
  }
}

TEST_CASE("edge: a stack has eight parts, each with a colour of its own, and no ninth") {
  std::set<std::string> colours;
  for (std::size_t look = 0; look < 8; ++look) colours.insert(fill_colour(look));
  CHECK(colours.size() == 8);
  CHECK_THROWS(fill_colour(8));
}
