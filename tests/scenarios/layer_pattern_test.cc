#include "scenarios/layer_pattern.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace hybridkv::test {

namespace {

/// The layers as one text, '.' after each: "m.m.a.".
std::string expanded(std::string_view pattern) {
  std::string text;
  for (const PatternLayer& layer : parse_layer_pattern(pattern)) text += layer.kinds + ".";
  return text;
}

std::pair<std::size_t, std::string> pattern_error(std::string_view pattern) {
  try {
    parse_layer_pattern(pattern);
  } catch (const PatternError& error) {
    return {error.offset(), error.what()};
  }
  return {0, "no error"};
}

/// A random pattern and the text that `expanded` should give, built side by side.
struct Sample {
  std::string pattern, layers;
};

Sample sample(int depth) {
  Sample result;
  const int items = *rc::gen::inRange(1, 4);
  for (int i = 0; i < items; ++i) {
    Sample item;
    const int form = *rc::gen::inRange(0, depth > 0 ? 4 : 3);
    if (form == 0) item = {"m", "m."};
    if (form == 1) item = {"-", "."};
    if (form == 2) item = {"a+m", "am."};
    if (form == 3) {
      const Sample inner = sample(depth - 1);
      item = {"(" + inner.pattern + ")", inner.layers};
    }
    const int times = *rc::gen::inRange(1, 4);
    if (times > 1) item.pattern += std::to_string(times);
    for (int k = 0; k < times; ++k) result.layers += item.layers;
    result.pattern += (*rc::gen::arbitrary<bool>() ? " " : "") + item.pattern;
  }
  return result;
}

}  // namespace

TEST_CASE("golden: patterns") {
  CHECK(expanded("mmma") == "m.m.m.a.");
  CHECK(expanded("(m3a)2") == "m.m.m.a.m.m.m.a.");
  CHECK(expanded("m5am4") == "m.m.m.m.m.a.m.m.m.m.");
  CHECK(expanded("(a+m)2") == "am.am.");
  CHECK(expanded("a+m2") == "am.am.");
  CHECK(expanded("M-*-E") == "M..*..E.");
  CHECK(expanded(" ( m 2 a ) 2 ") == "m.m.a.m.m.a.");
  CHECK(parse_layer_pattern("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME").size() == 52);
  CHECK(parse_layer_pattern("(mmma)15").size() == 60);
  CHECK(parse_layer_pattern("m10000").size() == 10'000);
}

TEST_CASE("law: a pattern expands as its parts do") {
  CHECK(rc::check("random patterns", [] {
    const Sample random = sample(2);
    RC_ASSERT(expanded(random.pattern) == random.layers);
  }));
}

TEST_CASE("golden: the patterns that layers are written as") {
  using Layers = std::vector<std::string>;
  CHECK(layer_pattern_text({"m", "m", "m", "a", "m", "m", "m", "a"}) == "(mmma)2");
  CHECK(layer_pattern_text({"m", "m", "m", "m", "m", "a", "m", "m", "m", "m"}) == "m5am4");
  CHECK(layer_pattern_text(Layers(32, "a+m")) == "(a+m)32");
  CHECK(layer_pattern_text({"m", "a+m", "-", "*"}) == "m(a+m)-*");
  CHECK(layer_pattern_text({"m"}) == "m");
  CHECK(layer_pattern_text(Layers(10'000, "m")) == "m10000");
}

TEST_CASE("law: layers that are written as a pattern are read back") {
  CHECK(rc::check("random layers, with and without repetitions", [] {
    const auto unit =
        *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>("m", "a", "a+m", "-"));
    const auto more =
        *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>("m", "a", "a+m", "-"));
    std::vector<std::string> layers{"m"};
    const int times = *rc::gen::inRange(0, 12);
    for (int i = 0; i < times; ++i) layers.insert(layers.end(), unit.begin(), unit.end());
    layers.insert(layers.end(), more.begin(), more.end());
    std::string wanted;
    for (const std::string& layer : layers) wanted += (layer == "-" ? "" : layer == "a+m" ? "am" : layer) + ".";
    RC_ASSERT(expanded(layer_pattern_text(layers)) == wanted);
  }));
}

TEST_CASE("edge: layers know the character they come from") {
  const std::vector<PatternLayer> layers = parse_layer_pattern("m (a+m)2");
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].offset == 0);
  CHECK(layers[1].offset == 3);
  CHECK(layers[2].offset == 3);
}

TEST_CASE("edge: patterns that cannot be read point at the character") {
  using Error = std::pair<std::size_t, std::string>;
  const std::string form = "a layer is a letter or '*', or '-' for one without a cache; '+' joins two of them, '(' and "
                           "')' group, a number repeats";
  CHECK(pattern_error("") == Error{0, "no layers"});
  CHECK(pattern_error("  ") == Error{0, "no layers"});
  CHECK(pattern_error("m)") == Error{1, "')' closes nothing"});
  CHECK(pattern_error("m(a") == Error{1, "'(' is never closed"});
  CHECK(pattern_error("m()") == Error{1, "nothing between the brackets"});
  CHECK(pattern_error("3m") == Error{0, "a number must follow what it repeats"});
  CHECK(pattern_error("m0") == Error{1, "repeated 0 times"});
  CHECK(pattern_error("m.a") == Error{1, form});
  CHECK(pattern_error("a+") == Error{1, "nothing follows '+'"});
  CHECK(pattern_error("a+-") == Error{2, form});
  CHECK(pattern_error("m10001") == Error{5, "more than 10000 layers"});
  CHECK(pattern_error("m99999999999999999999999") == Error{23, "more than 10000 layers"});
  CHECK(pattern_error("(m9999)9999") == Error{10, "more than 10000 layers"});
  CHECK(pattern_error(std::string(17, '(') + "m") == Error{16, "more than 16 brackets inside each other"});
}

}  // namespace hybridkv::test
