// Steps that a benchmark is told to run: what is chosen, how it is written, and what is read back.
#include "clock/forward_file.h"
#include "clock/shape_counter.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "base/error.h"
#include "tests/clock/clock_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const StepClock& shape_clock() {
  static const StepClock clock(some_hybrid(), {}, some_gpu(), {});
  return clock;
}

ShapePart decode_behind(std::int64_t context, std::int64_t count = 1) { return {.context = context, .count = count}; }

std::string refusal_of(const std::string& text) {
  try {
    parse_forward(text, "forward.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("golden: a step is counted once however often it comes, those that take most time first") {
  ShapeCounter counter(shape_clock());
  for (int i = 0; i < 1000; ++i) counter.add({decode_behind(1000 + i % 3), decode_behind(1000)});
  counter.add({{.query = 8192}});
  counter.add({{.query = 4, .context = 400'000, .found = true}});
  counter.add({});
  const std::vector<StepShape> shapes = counter.most(1);
  REQUIRE(shapes.size() == 2);  // and the one that takes longest at once
  CHECK(shapes[0].parts == std::vector{decode_behind(1000, 2)});
  CHECK(shapes[0].name == "2 x decode 1 behind 1000");
  CHECK(shapes[1].parts == std::vector{ShapePart{.query = 8192}});
  CHECK(counter.most(10).size() == 3);
}

TEST_CASE("golden: a shape is written as the benchmark of forward passes reads it") {
  const StepShape shape{"mixed", {decode_behind(99, 16), {.query = 512, .context = 2048, .found = true}, {.query = 7}}};
  CHECK(shapes_text({shape}) == R"({
  "cases": [
    {
      "name": "mixed",
      "requests": [
        {
          "query_len": 1,
          "kv_len": 100,
          "num_draft_tokens": 0,
          "chunked": true,
          "count": 16
        },
        {
          "query_len": 512,
          "kv_len": 2560,
          "num_draft_tokens": 0,
          "chunked": false,
          "count": 1
        },
        {
          "query_len": 7,
          "kv_len": 7,
          "num_draft_tokens": 0,
          "chunked": false,
          "count": 1
        }
      ]
    }
  ]
}
)");
}

TEST_CASE("law: what was written as shapes is read back of a result as it was") {
  CHECK(rc::check([] {
    std::vector<ShapePart> parts;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      const std::int64_t drafts = *rc::gen::inRange(0, 3), context = *rc::gen::inRange(1, 9000);
      if (*rc::gen::arbitrary<bool>())
        parts.push_back({.query = 1 + drafts, .context = context, .drafts = drafts, .count = *rc::gen::inRange(1, 9)});
      else
        parts.push_back({.query = *rc::gen::inRange(5, 900),
                         .context = *rc::gen::arbitrary<bool>() ? context : 0,
                         .count = *rc::gen::inRange(1, 9)});
      ShapePart& part = parts.back();
      if (!part.decodes() && part.context > 0) part.found = *rc::gen::arbitrary<bool>();
    }
    std::string text = shapes_text({{shape_name(parts), parts}});
    // The result repeats the requests of a case.
    text.replace(0, text.find('['), "");
    text.resize(text.rfind(']') + 1);
    const std::size_t brace = text.find('{');
    text.insert(brace + 1, R"("median_us": 2500, "ranks": [{"latency_us": {"sample_spread_pct": 0.7}}],)");
    const std::vector<MeasuredShape> measured = parse_forward(text, "forward.json");
    RC_ASSERT(measured.size() == 1u);
    RC_ASSERT(measured[0].shape.parts == parts);
    RC_ASSERT(std::abs(measured[0].seconds - 2.5e-3) < 1e-12);
    RC_ASSERT(measured[0].spread_percent == 0.7);
  }));
}

TEST_CASE("edge: of a result that says nothing of its spread there is none") {
  for (const char* ranks : {"[]", "[3]", "7", R"([{"latency_us": 3}])", R"([{"latency_us": {}}])"}) {
    CAPTURE(ranks);
    const std::string text = R"([{"requests": [{"query_len": 1, "kv_len": 5}], "median_us": 5, "ranks": )";
    CHECK(parse_forward(text + ranks + "}]", "forward.json").at(0).spread_percent == 0);
  }
}

TEST_CASE("law: the batch of a shape has the tokens of its parts, and samples nothing") {
  CHECK(rc::check([] {
    std::vector<ShapePart> parts;
    double tokens = 0;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      parts.push_back({.query = *rc::gen::inRange(1, 900), .context = *rc::gen::inRange(0, 900),
                       .count = *rc::gen::inRange(1, 9)});
      tokens += static_cast<double>(parts.back().query * parts.back().count);
    }
    const StepBatch batch = forward_batch({"", parts}, {});
    RC_ASSERT(batch.rows() == tokens);
    RC_ASSERT(batch.sampled == 0);
    const StepWorkload work = shape_clock().workload(batch);
    RC_ASSERT(StepClock::forward_seconds_of(work, {}) < StepClock::seconds_of(work, {}));
  }));
}

TEST_CASE("edge: shapes that tell numbers of a clock apart keep to what the server runs") {
  for (const StepShape& shape : telling_shapes(16, 8192, 2))
    for (const ShapePart& part : shape.parts) {
      CHECK(part.count <= 16);
      CHECK(part.query + part.context <= 8192);
      CHECK((part.decodes() ? part.query == 3 : part.drafts == 0));
    }
  CHECK(telling_shapes(256, 1'000'000, 0).size() == 23);
  CHECK(telling_shapes(1, 64, 0).empty());
}

TEST_CASE("edge: a result that is none is refused with its case and key") {
  CHECK(refusal_of("{}").starts_with("forward.json: is no result of a benchmark of forward passes"));
  CHECK(refusal_of("[]").starts_with("forward.json: is no result of a benchmark of forward passes"));
  const auto of = [](const std::string& part, const std::string& rest) {
    return R"([{"case": "a", "requests": [)" + part + "]" + rest + "}]";
  };
  const std::string good = R"({"query_len": 1, "kv_len": 5})", time = R"(, "median_us": 5)";
  CHECK(refusal_of(of(good, time)) == "taken");
  CHECK(refusal_of(of(good, "")).starts_with("forward.json: case 1: median_us: is no number"));
  CHECK(refusal_of(of(good, R"(, "median_us": 0)")).starts_with("forward.json: case 1: median_us: is not above 0"));
  for (const char* requests : {R"("requests": [], )", R"("requests": 7, )", ""})
    CHECK(refusal_of(std::string("[{") + requests + R"("median_us": 5}])")
              .starts_with("forward.json: case 1: requests: is no list"));
  CHECK(refusal_of(of(R"({"query_len": 6, "kv_len": 5})", time)).starts_with("forward.json: case 1: kv_len"));
  CHECK(refusal_of(of(R"({"query_len": 1, "kv_len": 1e3})", time)).starts_with("forward.json: case 1: kv_len"));
  CHECK(refusal_of(of(R"({"query_len": 1, "kv_len": 5, "num_draft_tokens": 1})", time))
            .starts_with("forward.json: case 1: num_draft_tokens"));
  CHECK(refusal_of(of(R"({"query_len": 1, "kv_len": 5, "count": 99999999})", time))
            .starts_with("forward.json: case 1: count"));
}
