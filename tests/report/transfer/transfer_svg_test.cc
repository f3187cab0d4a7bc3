#include "report/transfer/transfer_svg.h"

#include <doctest/doctest.h>

#include <pugixml.hpp>

#include "scenarios/read.h"
#include "tests/report/drawn_text.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Keys of an engine behind others, by the rules of June 2026 where they name no release.
std::string by_june(const std::string& engine) {
  return (engine.find("release:") == engine.npos ? ", release: vllm-2026-06" : "") + engine;
}

TransferAnswer drawn_answer(const std::string& from_engine, const std::string& to_engine) {
  const auto scenario = [](const std::string& engine) {
    return read_scenario(parse_scenario("model: Qwen3.5-0.8B\nengine: {memory: 1 GiB, cache_mode: align" +
                                            by_june(engine) +
                                            "}\nlimits: {max_model_len: 4096}\n",
                                        "small.yaml"));
  };
  return transfer({.from = scenario(from_engine), .to = scenario(to_engine), .tokens = 1500});
}

struct Drawn {
  std::int64_t runs = 0;      ///< that bands stand for
  std::int64_t bands = 0;
  std::int64_t bytes = 0;     ///< of bands of one run
  std::int64_t parts = 0;
  std::int64_t details = 0;
};

Drawn drawn_in(const std::string& svg) {
  pugi::xml_document document;
  REQUIRE(document.load_string(svg.c_str()));
  Drawn drawn;
  for (const pugi::xml_node& node : document.child("svg").children()) {
    const std::string css_class = node.attribute("class").value();
    drawn.parts += css_class == "part";
    drawn.details += css_class == "detail";
    if (css_class != "run") continue;
    ++drawn.bands;
    const std::int64_t runs = node.attribute("data-runs").as_llong();
    drawn.runs += runs;
    if (runs == 1)
      drawn.bytes += node.attribute("data-to-end").as_llong() - node.attribute("data-to-begin").as_llong();
  }
  return drawn;
}

}  // namespace

TEST_CASE("law: every run of the pages has its band, those too near for the eye one together and enlarged") {
  const char* const pairs[][2] = {{"", ", tensor_parallel: 2"},
                                  {", physical_order: hnd", ", tensor_parallel: 2"},
                                  {", tensor_parallel: 2", ", attention_pack_size: 3, physical_order: head_major"},
                                  {", release: vllm-0.33", ", strategy: small_pages"}};
  for (const auto& [from, to] : pairs) {
    CAPTURE(std::string(from));
    CAPTURE(std::string(to));
    const TransferAnswer answer = drawn_answer(from, to);
    const std::vector<TransferPages> pages = transfer_pages(answer);
    std::int64_t runs = 0, bytes = 0, parts = 0;
    for (const TransferPages& one : pages) {
      runs += std::ssize(one.runs);
      parts += std::ssize(one.from.strip.parts) + std::ssize(one.to.strip.parts);
      for (const PageRun& run : one.runs) bytes += run.to.end - run.to.begin;
    }
    const std::string svg = transfer_pages_svg(answer, pages, 830);
    CHECK(outside_texts(svg) == std::vector<std::string>());
    const Drawn drawn = drawn_in(svg);
    CHECK(drawn.runs == runs);
    CHECK(drawn.parts == parts);
    if (drawn.bands == runs) CHECK(drawn.bytes == bytes);
    CHECK((drawn.bands < runs) == (drawn.details > 0));
  }
}

TEST_CASE("golden: the plot has the runs as data and says which sides it shows") {
  const TransferAnswer answer = drawn_answer("", ", tensor_parallel: 2");
  const Plot plot = plot_transfer(answer);
  CHECK(plot.name == "transfer");
  CHECK(plot.subtitle == "Qwen3.5-0.8B: 1 rank, nhd, N = 1 to 2 ranks, nhd, N = 1");
  REQUIRE(plot.tables.size() == 1);
  std::size_t runs = 0;
  for (const TransferPages& pages : transfer_pages(answer)) runs += pages.runs.size();
  CHECK(plot.tables[0].table.rows().size() == runs);
  CHECK(plot.svg(830) == transfer_pages_svg(answer, transfer_pages(answer), 830));
  CHECK(plot.svg(830).find("Transfer: Qwen3.5-0.8B, 1,500 tokens from 1 rank to 2 ranks") != std::string::npos);
}

TEST_CASE("law: names of layers above a page stand apart, and are left out where they have no room") {
  // In 8 bits a token has 1,024 bytes in a layer, and a state 1,085,440: a block of six layers has 192 tokens, twelve
  // kernel blocks of 16. So 72 stretches of a layer share 782 pixels, 10.9 each, and "L11" takes 15.6.
  const std::string engine = ", kv_dtype: fp8_e4m3, kernel_block_sizes: [16], attention_pack_size: 6";
  const TransferAnswer answer = drawn_answer(engine, engine + ", tensor_parallel: 2");
  const std::string svg = transfer_pages_svg(answer, transfer_pages(answer), 830);
  std::vector<DrawnText> names;
  for (const DrawnText& text : read_texts(svg))
    if (text.words.size() > 1 && text.words[0] == 'L' && text.words[1] >= '0' && text.words[1] <= '9')
      names.push_back(text);
  CHECK(names.size() > 24);
  CHECK(names.size() < 72);
  for (std::size_t i = 1; i < names.size(); ++i) {
    CAPTURE(names[i].words);
    if (names[i].bottom == names[i - 1].bottom) CHECK(names[i].left > names[i - 1].right);
  }
}
