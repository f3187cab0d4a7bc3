#include "report/plot/page_map_svg.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include "engines/jenga/rules.h"
#include "engines/vllm/rules.h"
#include "layout/for_each_index.h"
#include "layout/shift.h"
#include "layout/slice.h"
#include "planner/plan.h"
#include "report/human.h"
#include "scenarios/model_library.h"
#include "tests/planner/models.h"
#include "tests/report/drawn_text.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Of a model with small heads, every fourth layer with attention, so that many layers go into a page.
PlanSet plans_of_small_heads(std::int64_t layers, const std::vector<std::int64_t>& packs) {
  EngineSpec engine;
  engine.memory_bytes = 4 * gib;
  return make_plans(qwen_hybrid("many", layers, full_attention(2, 64), qwen_gdn(4, 8)), engine,
                    {.max_model_lens = {1024}}, packs);
}

std::string svg_of(const PlanSet& set, const CachePlan& plan, int width) {
  return page_map_svg(set, plan, page_strips(plan), width);
}

/// A rectangle of the picture with the bytes it stands for.
struct DrawnPart {
  std::int64_t begin = 0, end = 0;
  std::string owner;  ///< "layer 3 kv K", "layer 0 ssm"; "padding"
  double x = 0, width = 0;
  bool dashed = false;
};
using GroupAndPool = std::pair<std::int64_t, std::int64_t>;

std::string owner_text(std::int64_t layer, const std::string& tensor, const std::string& half) {
  return "layer " + std::to_string(layer) + " " + tensor + (half.empty() ? "" : " " + half);
}

std::map<GroupAndPool, std::vector<DrawnPart>> read_parts(const std::string& svg, const std::string& css_class) {
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  std::map<GroupAndPool, std::vector<DrawnPart>> strips;
  for (const pugi::xml_node& rect : document.child("svg").children("rect")) {
    if (rect.attribute("class").value() != css_class) continue;
    const auto number = [&](const char* name) { return std::int64_t{rect.attribute(name).as_llong()}; };
    DrawnPart part{number("data-begin"),
                   number("data-end"),
                   rect.attribute("data-tensor").value(),
                   rect.attribute("x").as_double(),
                   rect.attribute("width").as_double(),
                   !rect.attribute("stroke-dasharray").empty()};
    if (rect.attribute("data-layer"))
      part.owner = owner_text(number("data-layer"), part.owner, rect.attribute("data-half").value());
    strips[{number("data-group"), number("data-pool")}].push_back(part);
  }
  return strips;
}

bool in_group(const CachePlan& plan, const ViewPlan& view, std::int64_t group, std::int64_t pool) {
  const GroupPlan& of = plan.groups[static_cast<std::size_t>(group)];
  if (of.spec != view.spec || view.pool != pool || pool >= std::ssize(of.pages)) return false;
  const auto& layers = of.pages[static_cast<std::size_t>(pool)];
  return std::find(layers.begin(), layers.end(), view.layer) != layers.end();
}

/// Who owns each byte of a page, by the address of every single element of every view of the plan.
std::vector<std::string> owners_by_element(const CachePlan& plan, std::int64_t group, std::int64_t pool) {
  std::vector<std::string> owners(static_cast<std::size_t>(plan.page_bytes()), "padding");
  const SpecPlan& spec = plan.specs[static_cast<std::size_t>(plan.groups[static_cast<std::size_t>(group)].spec)];
  const std::int64_t kernel_blocks = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
  for (const ViewPlan& view : plan.views) {
    if (!in_group(plan, view, group, pool)) continue;
    const Layout page = slice(view.elements(), "block", 0, kernel_blocks);
    const int kv = page.find("kv");
    for_each_index(page, [&](std::span<const std::int64_t> index, std::int64_t offset) {
      const std::string half = kv < 0 ? "" : index[static_cast<std::size_t>(kv)] == 0 ? "K" : "V";
      for (std::int64_t byte = 0; byte < element_bytes(view.dtype); ++byte)
        owners[static_cast<std::size_t>(offset * element_bytes(view.dtype) + byte)] =
            owner_text(view.layer, view.tensor, half);
    });
  }
  return owners;
}

/// The rectangles of a page follow each other from its first byte to its last and say of every byte whose it is.
void check_page(const CachePlan& plan, const GroupAndPool& where, const std::vector<DrawnPart>& parts) {
  const std::vector<std::string> owners = owners_by_element(plan, where.first, where.second);
  std::int64_t end = 0, wrong = 0;
  for (const DrawnPart& part : parts) {
    REQUIRE(part.begin == end);
    REQUIRE(part.end > part.begin);
    REQUIRE(part.end <= plan.page_bytes());
    end = part.end;
    for (std::int64_t byte = part.begin; byte < part.end; ++byte)
      wrong += owners[static_cast<std::size_t>(byte)] == part.owner ? 0 : 1;
  }
  CHECK(end == plan.page_bytes());
  CHECK(wrong == 0);
}

PlanSet qwen_plans(const std::vector<std::int64_t>& packs, std::vector<std::int64_t> kernel_blocks = {},
                   PhysicalOrder order = PhysicalOrder::nhd) {
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 40 * gib;
  engine.kernel_block_sizes = std::move(kernel_blocks);
  engine.physical_order = order;
  return make_plans(qwen_hybrid("Qwen3.5-397B-A17B", 60, full_attention(2, 256), qwen_gdn(16, 64)), engine,
                    {.max_model_lens = {32768}}, packs);
}

}  // namespace

TEST_CASE("golden: page maps of packs 1, 4 and 5 of Qwen3.5-397B match the views byte for byte") {
  const PlanSet set = qwen_plans({1, 4, 5});
  for (const CachePlan& plan : set.plans) {
    CAPTURE(plan.attention_pack_size);
    const auto pages = read_parts(svg_of(set, plan, 830), "part");
    CHECK(pages.size() == (plan.attention_pack_size == 4 ? 3 : 2));  // 15 = 4 + 4 + 4 + 3: the short pack is shown too
    for (const auto& [where, parts] : pages) check_page(plan, where, parts);
  }
}

TEST_CASE("golden: offsets of the page of pack 5") {
  const PlanSet set = qwen_plans({5});
  const auto pages = read_parts(svg_of(set, set.plans[0], 830), "part");
  REQUIRE(pages.size() == 2);  // groups come in the order of their first layers: gdn, then attention
  const std::vector<DrawnPart>& state = pages.begin()->second;
  const std::vector<DrawnPart>& attention = pages.rbegin()->second;
  REQUIRE(attention.size() == 10);
  CHECK(attention[1].begin == 221184);
  CHECK(attention[2].begin == 442368);
  CHECK(attention[2].owner == "layer 7 kv K");
  REQUIRE(state.size() == 3);
  CHECK(state[1].begin == 36864);
  CHECK(state[2].begin == 2134016);
  CHECK(state[2].owner == "padding");
  CHECK(state[2].end == 2211840);
}

TEST_CASE("law: kernel blocks are drawn whole and the first of them enlarged, byte for byte") {
  const PlanSet set = qwen_plans({4}, {48});
  const CachePlan& plan = set.plans[0];
  const std::string svg = svg_of(set, plan, 830);
  const auto pages = read_parts(svg, "part");
  const auto details = read_parts(svg, "detail");
  CHECK(details.size() == 2);
  for (const auto& [where, parts] : pages) check_page(plan, where, parts);
  for (const auto& [where, parts] : details) {
    std::size_t i = 0;
    for (const DrawnPart& part : parts) {
      const DrawnPart& same = pages.at(where).at(i++);
      CHECK(std::tuple(part.begin, part.end, part.owner) == std::tuple(same.begin, same.end, same.owner));
    }
    CHECK(parts.back().end == plan.page_bytes() / 11);
  }
}

TEST_CASE("golden: every kernel block has its number above the page, the first in words, and a tick that ends on it") {
  // A block of 432 tokens is nine of 48. Of the 782 pixels of the page each has 86.9, and "kernel block 0" takes 76.
  const PlanSet set = qwen_plans({5}, {48});
  const std::string svg = svg_of(set, set.plans[0], 830);
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  double top = 0;
  for (const pugi::xml_node& rect : document.child("svg").children("rect"))
    if (rect.attribute("class").value() == std::string("part") && rect.attribute("data-kernel-block"))
      top = rect.attribute("y").as_double();
  std::vector<std::string> labels;
  std::vector<double> lefts, ticks;
  for (const DrawnText& text : read_texts(svg)) {
    if (text.bottom >= top || text.bottom < top - 10) continue;
    labels.push_back(text.words);
    lefts.push_back(text.left);
  }
  for (const pugi::xml_node& line : document.child("svg").children("line"))
    if (line.attribute("x1").as_double() == line.attribute("x2").as_double() &&
        line.attribute("y1").as_double() < top && line.attribute("y2").as_double() == top)
      ticks.push_back(line.attribute("x1").as_double());
  CHECK(labels == std::vector<std::string>{"kernel block 0", "1", "2", "3", "4", "5", "6", "7", "8"});
  CHECK(ticks == lefts);
  // The lines that enlarge a kernel block leave from below the page.
  const pugi::xpath_node_set enlarging = document.select_nodes("//line[@stroke-dasharray='4,3']");
  CHECK(enlarging.size() == 2);
  for (const pugi::xpath_node& line : enlarging) CHECK(line.node().attribute("y1").as_double() >= top + 26);
}

TEST_CASE("law: parts stand to scale, and what does not is dashed") {
  const PlanSet set = qwen_plans({1, 5});
  for (const CachePlan& plan : set.plans) {
    for (const auto& [where, parts] : read_parts(svg_of(set, plan, 830), "part")) {
      const bool widened = std::any_of(parts.begin(), parts.end(), [](const DrawnPart& part) { return part.dashed; });
      CHECK(widened == (plan.attention_pack_size == 1 && parts.size() == 3));  // 12,288 bytes of padding
      double x = 24;
      for (const DrawnPart& part : parts) {
        CHECK(std::abs(part.x - x) < 0.02);
        x += part.width;
        const double natural =
            782.0 * static_cast<double>(part.end - part.begin) / static_cast<double>(plan.page_bytes());
        if (!widened) CHECK(std::abs(part.width - natural) < 0.01);
        if (part.dashed) CHECK(part.width > natural);
      }
      CHECK(std::abs(x - 806) < 0.1);
    }
  }
}

TEST_CASE("law: every form and order of a backend is mapped byte for byte") {
  using enum BackendForm;
  for (const BackendForm form : {paged, flex, cpu, diff_kv, kv_first}) {
    for (const PhysicalOrder order : {PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major}) {
      EngineSpec engine;
      engine.memory_bytes = 64 * mib;
      engine.backend_form = form;
      engine.physical_order = order;
      engine.kernel_block_sizes = {16};
      const std::vector<std::int64_t> packs{2};
      CAPTURE(to_string(form));
      CAPTURE(to_string(order));
      PlanSet set;
      try {
        set = make_plans(qwen_hybrid("small", 12, full_attention(2, 32), qwen_gdn(2, 2)), engine,
                         {.max_model_lens = {1024}}, packs);
      } catch (const SpecError&) {
        CHECK(order == PhysicalOrder::head_major);  // has no such order
        continue;
      }
      for (const auto& [where, parts] : read_parts(svg_of(set, set.plans[0], 830), "part")) {
        // Forms without a K/V axis, and those that mix K and V token by token, show both as one.
        std::vector<DrawnPart> unsplit = parts;
        const std::vector<std::string> owners = owners_by_element(set.plans[0], where.first, where.second);
        std::int64_t wrong = 0, end = 0;
        for (const DrawnPart& part : unsplit) {
          CHECK(part.begin == end);
          end = part.end;
          for (std::int64_t byte = part.begin; byte < part.end; ++byte)
            wrong += owners[static_cast<std::size_t>(byte)].starts_with(part.owner) ? 0 : 1;
        }
        CHECK(wrong == 0);
        CHECK(end == set.plans[0].page_bytes());
      }
    }
  }
}

TEST_CASE("law: no line strikes through a number or a name, and none covers another, with 1 to 72 layers a page") {
  const PlanSet many = plans_of_small_heads(288, {1, 2, 5, 7, 12, 24, 36, 72});
  const PlanSet some = qwen_plans({1, 3, 4, 5, 8, 15}, {48});
  // Numbers of a terabyte are wider than a part of the page.
  EngineSpec vast;
  vast.memory_bytes = (1 << 20) * gib;
  const ModelSpec wide_model = qwen_hybrid("wide", 48, full_attention(2, 64), GdnSpec{16, 1 << 18, 256, 256, 4});
  const PlanSet wide =
      make_plans(wide_model, vast, {.max_model_lens = {1024}}, std::vector<std::int64_t>{11});
  for (const PlanSet* set : {&many, &some, &wide})
    for (const CachePlan& plan : set->plans) {
      CAPTURE(plan.attention_pack_size);
      const std::string svg = svg_of(*set, plan, 830);
      CHECK(struck_texts(svg) == std::vector<std::string>());
      CHECK(covered_texts(svg) == std::vector<std::string>());
      std::size_t ends = 0;  // the last byte of every bar is said
      for (const DrawnText& text : read_texts(svg))
        ends += text.words == human_count(plan.page_bytes()) + " bytes" ? 1 : 0;
      CHECK(ends >= (set == &many ? 2 : 1));  // of kernel blocks, the first is enlarged
    }
}

TEST_CASE("law: below a page every part has a tick where it begins, a short one where its number finds no room") {
  const PlanSet set = plans_of_small_heads(288, {72});
  const std::string svg = svg_of(set, set.plans[0], 830);
  pugi::xml_document document;
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  std::set<double> bottoms;
  std::size_t parts = 0, ticks = 0, short_ticks = 0;
  for (const pugi::xml_node& rect : document.child("svg").children("rect"))
    if (rect.attribute("class").value() == std::string("part")) {
      bottoms.insert(rect.attribute("y").as_double() + rect.attribute("height").as_double());
      ++parts;
    }
  for (const pugi::xml_node& line : document.child("svg").children("line")) {
    const double from = line.attribute("y1").as_double(), length = line.attribute("y2").as_double() - from;
    const bool upright = line.attribute("x1").as_double() == line.attribute("x2").as_double();
    if (!upright || std::none_of(bottoms.begin(), bottoms.end(), [&](double y) { return std::abs(y - from) < 0.02; }))
      continue;
    ++ticks;
    // One of three pixels, or one down to the letters of a number, the first row of which begins five below the page.
    short_ticks += length < 5 ? 1 : 0;
    CHECK((std::abs(length - 3) < 0.02 || length > 4.98));
  }
  CHECK(ticks == parts + bottoms.size());  // and one where the last part ends
  CHECK(short_ticks > parts / 2);
}

TEST_CASE("edge: layers keep names above them when there are 36 or 72 a page; a hue says K or V, never whose") {
  const PlanSet set = plans_of_small_heads(288, {36, 72});
  for (const CachePlan& plan : set.plans) {
    const std::string svg = svg_of(set, plan, 830);
    std::size_t named = 0;
    for (const DrawnText& text : read_texts(svg)) named += text.words.starts_with("L") ? 1 : 0;
    CHECK(named >= 12);
    CHECK(svg.find(">K</text>") != std::string::npos);  // in the legend where parts are too narrow for words
  }
}

TEST_CASE("edge: of 24 parts all have their number below, those of V too") {
  const PlanSet set = plans_of_small_heads(48, {12});
  const std::string svg = svg_of(set, set.plans[0], 830);
  std::set<std::string> said;
  for (const DrawnText& text : read_texts(svg)) said.insert(text.words);
  const auto pages = read_parts(svg, "part");
  const std::vector<DrawnPart>& attention = pages.rbegin()->second;
  REQUIRE(attention.size() == 24);  // K and V of twelve layers
  for (const DrawnPart& part : attention) {
    CAPTURE(part.owner);
    CHECK(said.contains(human_count(part.begin)));
  }
}

TEST_CASE("edge: with 400 layers a page the line above each is still half a pixel from left to right") {
  EngineSpec engine;
  engine.memory_bytes = 4 * gib;
  ModelSpec model = hybrid_model("dense", 401, full_attention(2, 64), qwen_gdn(4, 8),
                                 [](std::int64_t layer) { return layer > 0; });
  model.ssm_dtype = DType::fp32;
  const PlanSet set = make_plans(model, engine, {.max_model_lens = {1024}}, std::vector<std::int64_t>{400});
  pugi::xml_document document;
  const std::string svg = svg_of(set, set.plans[0], 830);
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  std::size_t lines = 0;
  for (const pugi::xml_node& line : document.child("svg").children("line")) {
    if (line.attribute("y1").as_double() != line.attribute("y2").as_double()) continue;
    ++lines;
    // Of the 782 pixels of the page each of the 400 layers has less than two.
    CHECK(line.attribute("x2").as_double() - line.attribute("x1").as_double() > 0.48);
  }
  CHECK(lines == 401);  // and one over the page of the layer with a state
}

TEST_CASE("edge: words that find no room on a dimension line stand behind it, and before it where the page ends") {
  // A state is 48 steps of 64 channels in two bytes, and two heads of 16 x 16 numbers in four: of 8,192 bytes the first
  // head takes those from 6,144 to 7,168. 32 tokens of 256 bytes fill the page as well.
  EngineSpec engine;
  engine.memory_bytes = 64 * mib;
  const PlanSet set = make_plans(qwen_hybrid("small", 4, full_attention(2, 32), GdnSpec{1, 2, 16, 16, 49}), engine,
                                 {.max_model_lens = {1024}}, std::vector<std::int64_t>{1});
  REQUIRE(set.plans[0].page_bytes() == 8192);
  pugi::xml_document document;
  const std::string svg = svg_of(set, set.plans[0], 830);
  REQUIRE(document.load_buffer(svg.data(), svg.size()));
  std::vector<std::string> before, behind;
  for (const pugi::xml_node& text : document.child("svg").children("text")) {
    const pugi::xml_node line = text.previous_sibling();
    if (line.name() != std::string("path")) continue;  // "M from,y H to": the words follow it where they are beside it
    const std::string path = line.attribute("d").value();
    const double from = std::stod(path.substr(1)), to = std::stod(path.substr(path.find('H') + 1));
    const bool ends = text.attribute("text-anchor").value() == std::string("end");
    (ends ? before : behind).push_back(text.text().get());
    const double x = text.attribute("x").as_double();
    CHECK((ends ? x < from : x > to));
  }
  CHECK(before == std::vector<std::string>{"head stride 256 elements = 1,024 bytes"});
  CHECK(behind == std::vector<std::string>{"token stride 64 elements = 128 bytes"});
}

TEST_CASE("fault: overlapping views make no page map") {
  PlanSet set = qwen_plans({5});
  CachePlan& plan = set.plans[0];
  for (ViewPlan& view : plan.views)
    if (view.layer == 7) view.bytes = shift(view.bytes, -256 * element_bytes(view.dtype));
  CHECK_THROWS_AS(svg_of(set, plan, 830), std::logic_error);
}

TEST_CASE("fault: a shifted view is another page map") {
  const PlanSet set = qwen_plans({1});
  PlanSet moved = set;
  CachePlan& plan = moved.plans[0];
  for (ViewPlan& view : plan.views)
    if (view.tensor == "ssm") view.bytes = shift(view.bytes, element_bytes(view.dtype));
  const auto wrong = read_parts(svg_of(moved, plan, 830), "part");
  const auto right = read_parts(svg_of(set, set.plans[0], 830), "part");
  CHECK(wrong.begin()->second.size() + wrong.rbegin()->second.size() >
        right.begin()->second.size() + right.rbegin()->second.size());  // four bytes of padding between conv and ssm
}

TEST_CASE("edge: equal plans give equal bytes, width only scales, names are escaped") {
  PlanSet set = qwen_plans({5});
  set.model = "<b>&\"model\"";
  const std::string svg = svg_of(set, set.plans[0], 830);
  CHECK(svg == svg_of(set, set.plans[0], 830));
  CHECK(svg.find("&lt;b&gt;&amp;&quot;model&quot;") != std::string::npos);
  const std::string wide = svg_of(set, set.plans[0], 1660);
  CHECK(wide.substr(wide.find("viewBox")) == svg.substr(svg.find("viewBox")));
}

namespace {

CachePlan plan_of_0_33(CacheOrder order, BackendProfile profile, const ModelSpec& model, bool drafts) {
  EngineSpec engine{.rules = &rules_of_vllm_0_33, .backend_profile = profile, .tensor_parallel = 2,
                    .cache_mode = CacheMode::align, .cache_order = order, .memory_bytes = 40 * gib};
  if (drafts) engine.draft = DraftSpec{1, full_attention(8, 128, 32)};
  return make_plan(model, engine, {.max_model_lens = {32'768}});
}

}  // namespace

TEST_CASE("law: pages of one allocation are whole, wherever they lie in a block") {
  for (const CacheOrder order : {CacheOrder::lbhnc, CacheOrder::lbnhc, CacheOrder::blhnc, CacheOrder::blnhc})
    for (const bool drafts : {false, true}) {
      CAPTURE(to_string(order));
      CAPTURE(drafts);
      const CachePlan plan = plan_of_0_33(order, BackendProfile::sm90, qwen35_397b(), drafts);
      const std::vector<PageStrip> strips = page_strips(plan);
      CHECK(strips.size() == plan.specs.size());
      for (const PageStrip& strip : strips) {
        CHECK(strip.parts.front().bytes.begin == 0);
        CHECK(strip.parts.back().bytes.end == plan.page_bytes(plan.groups[static_cast<std::size_t>(strip.group)]));
      }
    }
}

TEST_CASE("edge: of views that the engine refuses there is no page map") {
  const CachePlan refused = plan_of_0_33(CacheOrder::blhnc, BackendProfile::sm100_flashinfer, qwen35_397b(), false);
  CHECK_THROWS_AS(page_strips(refused), InputError);
}

TEST_CASE("law: no text of a page map is cut or struck, of any shipped model, in any font that stands in for ours") {
  for (const ShippedModel& shipped : shipped_models())
    for (const EngineRules* const rules : {&rules_of_vllm_2026_06, &rules_of_vllm_0_33, &rules_of_jenga})
      for (const std::int64_t pack : {1, 5}) {
        if (pack != 1 && rules == &rules_of_vllm_0_33) continue;
        EngineSpec engine{.rules = rules, .attention_pack_size = pack, .memory_bytes = 400 * gib};
        CAPTURE(shipped.model.name);
        CAPTURE(rules->name);
        CAPTURE(pack);
        PlanSet set;
        try {
          set = make_plans(shipped.model, engine, {.max_model_lens = {32768}}, std::vector<std::int64_t>{pack});
        } catch (const InputError&) {
          continue;  // the release has no such model, or no such packs
        }
        const std::string svg = svg_of(set, set.plans[0], 830);
        CHECK(outside_texts(svg) == std::vector<std::string>());
        CHECK(covered_texts(svg) == std::vector<std::string>());
        CHECK(struck_texts(svg) == std::vector<std::string>());
      }
}
