#include "report/plot/bar_scale.h"

#include <doctest/doctest.h>

#include <vector>

using namespace hybridkv;

TEST_CASE("law: parts stand to scale in a stretch that begins inside the page, where it is too narrow to widen any") {
  const std::vector<PagePart> parts{{.bytes = {0, 100}, .layer = {}, .tensor = "padding", .half = {}},
                                    {.bytes = {100, 150}, .layer = {}, .tensor = "padding", .half = {}},
                                    {.bytes = {150, 200}, .layer = {}, .tensor = "padding", .half = {}}};
  // Two parts of at least 7 would take more than half of 20.
  const BarScale scale(parts, {100, 200}, 5, 20);
  REQUIRE(scale.parts().size() == 2);
  CHECK(scale.to_scale());
  CHECK(scale.width(0) == 10);
  CHECK(scale.width(1) == 10);
  CHECK(scale.x(100) == 5);
  CHECK(scale.x(125) == 10);
  CHECK(scale.x(200) == 25);
}

TEST_CASE("law: a part that would be too narrow is seven wide, and the others give up of their width what it takes") {
  const std::vector<PagePart> parts{{.bytes = {0, 1}, .layer = {}, .tensor = "padding", .half = {}},
                                    {.bytes = {1, 251}, .layer = {}, .tensor = "padding", .half = {}},
                                    {.bytes = {251, 1001}, .layer = {}, .tensor = "padding", .half = {}}};
  const BarScale scale(parts, {0, 1001}, 0, 107);
  CHECK(scale.is_widened(0));
  CHECK_FALSE(scale.to_scale());
  // Of 107 - 7 the other 1,000 bytes have a quarter and three quarters.
  CHECK(scale.width(0) == doctest::Approx(7));
  CHECK(scale.width(1) == doctest::Approx(25));
  CHECK(scale.width(2) == doctest::Approx(75));
}
