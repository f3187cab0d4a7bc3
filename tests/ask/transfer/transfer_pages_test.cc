#include "ask/transfer/transfer_pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "tests/ask/asked.h"

using namespace hybridkv;
using hybridkv::testing::small_scenario;

namespace {

TransferAnswer pages_answer(std::string_view from_engine, std::string_view to_engine) {
  return transfer({.from = small_scenario(from_engine),
                   .to = small_scenario(to_engine),
                   .tokens = 1500,
                   .options = {.converts_dtypes = true, .exchanges_axes = true}});
}

/// The byte of the pool of a byte of a page as it is drawn: of a page in one piece.
std::int64_t pool_byte(const CachePlan& plan, const TransferPage& page, std::int64_t byte) {
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(page.strip.group)];
  return page.strip.front + page.id * plan.place_stride(group) + byte;
}

}  // namespace

TEST_CASE("golden: a page of K and V of one head of two, a page of a state") {
  const TransferAnswer answer = pages_answer("", "  tensor_parallel: 2\n");
  const std::vector<TransferPages> all = transfer_pages(answer);
  REQUIRE(all.size() == 2);
  const auto attention = std::find_if(all.begin(), all.end(), [](const TransferPages& pages) {
    return pages.kind == "full_attention";
  });
  REQUIRE(attention != all.end());
  CHECK(attention->from.layers == std::vector<std::int64_t>{3});
  CHECK(attention->from.id == answer.request.from.ids[0].back().front());
  // 544 tokens of a block on both sides: K and V of each of one head, every second head of the source.
  CHECK(attention->runs.size() == 2 * 544);
  CHECK(attention->runs[0] == PageRun{{0, 512}, {0, 512}, attention->runs[0].content});
  CHECK(attention->runs[1].from == ByteExtent{1024, 1536});
  CHECK(attention->runs[1].to == ByteExtent{512, 1024});
}

TEST_CASE("law: runs of pages are what the list copies between them, inside parts of both") {
  const char* const engines[] = {"",
                                 "  tensor_parallel: 2\n",
                                 "  attention_pack_size: 3\n  physical_order: head_major\n",
                                 "  release: vllm-0.33\n",
                                 "  release: vllm-0.33\n  pipeline_parallel: 2\n",
                                 "  release: vllm-0.33\n  physical_order: BLHNC\n  tensor_parallel: 2\n",
                                 "  release: sglang-0.5.23\n",
                                 "  strategy: small_pages\n",
                                 "  strategy: compact_slots\n",
                                 "  strategy: two_level\n",
                                 "  release: tensorrt-llm\n  max_batch_size: 4\n",
                                 "  release: llama.cpp\n"};
  for (const char* const from : engines)
    for (const char* const to : engines) {
      CAPTURE(std::string(from));
      CAPTURE(std::string(to));
      const TransferAnswer answer = pages_answer(from, to);
      const std::vector<TransferPages> all = transfer_pages(answer);
      CHECK(!all.empty());
      for (const TransferPages& pages : all) {
        CHECK(!pages.runs.empty());
        const CachePlan& to_plan = answer.map->to().plan_of(pages.to.rank);
        const CachePlan& from_plan = answer.map->from().plan_of(pages.from.rank);
        std::int64_t end = 0, copied = 0, padding = 0, listed = 0;
        bool converts = false;
        for (const PageRun& run : pages.runs) {
          CHECK(run.to.begin >= end);
          CHECK(run.to.end > run.to.begin);
          end = run.to.end;
          CHECK(run.from.begin >= 0);
          CHECK(run.from.end <= pages.from.page_bytes);
          const Content& content = answer.list.contents[static_cast<std::size_t>(run.content)];
          converts = converts || content.converts();
          CHECK((run.from.end - run.from.begin) * element_bytes(content.to_dtype) ==
                (run.to.end - run.to.begin) * element_bytes(content.from_dtype));
          copied += run.to.end - run.to.begin;
        }
        CHECK(end <= pages.to.page_bytes);
        for (const PagePart& part : pages.to.strip.parts)
          if (!part.layer) padding += part.bytes.end - part.bytes.begin;
        CHECK(copied <= pages.to.page_bytes - padding);
        if (converts || pages.from.strip.runs > 1 || pages.to.strip.runs > 1) continue;
        // The same by looking at every copy of the list for its bytes in both pages.
        const std::int64_t source = pool_byte(from_plan, pages.from, 0), target = pool_byte(to_plan, pages.to, 0);
        const std::int64_t from_pool = from_plan.views[pages.from.strip.views.front()].pool;
        const std::int64_t to_pool = to_plan.views[pages.to.strip.views.front()].pool;
        for (const RankCopies& pair : answer.list.pairs) {
          if (pair.from_rank != pages.from.rank || pair.to_rank != pages.to.rank) continue;
          for (const Copy& copy : pair.copies) {
            if (copy.from_pool != from_pool || copy.to_pool != to_pool) continue;
            for (std::int64_t byte = 0; byte < copy.bytes; byte += 2)
              if (copy.from + byte >= source && copy.from + byte < source + pages.from.page_bytes &&
                  copy.to + byte >= target && copy.to + byte < target + pages.to.page_bytes)
                listed += 2;
          }
        }
        CHECK(copied == listed);
      }
    }
}

TEST_CASE("edge: what is there already is in no page that is shown") {
  TransferQuestion question{.from = small_scenario(), .to = small_scenario(), .tokens = 1500, .present_tokens = 600};
  const TransferAnswer answer = transfer(question);
  for (const TransferPages& pages : transfer_pages(answer))
    if (pages.kind == "full_attention") CHECK(pages.from.id == answer.request.from.ids[0].back()[600 / 544]);
}

TEST_CASE("edge: of a copy that begins pages before the one shown the part within that page is shown") {
  TransferQuestion question{.from = small_scenario("  release: sglang-0.5.23\n"),
                            .to = small_scenario("  release: sglang-0.5.23\n"),
                            .tokens = 1500,
                            .ids = IdOrder::consecutive};
  // Slots that descend on both sides: all tokens lie in one row, in which the first one is the last.
  RequestTables tables = transfer(question).request.from;
  for (std::vector<std::int64_t>& table : tables.ids.front()) std::reverse(table.begin(), table.end());
  question.from_ids = question.to_ids = GivenIds{tables, "slots that descend"};
  const TransferAnswer answer = transfer(question);
  std::size_t shown = 0;
  for (const TransferPages& pages : transfer_pages(answer)) {
    if (pages.kind != "full_attention") continue;
    CHECK(std::any_of(answer.list.pairs.front().copies.begin(), answer.list.pairs.front().copies.end(),
                      [&](const Copy& copy) { return copy.bytes > pages.from.page_bytes; }));
    for (const PageRun& run : pages.runs) {
      ++shown;
      CHECK(run.from == run.to);
      CHECK(run.from.begin >= 0);
    }
  }
  CHECK(shown > 0);
}

TEST_CASE("rule: of a page of several layers only what the other page has of them is shown") {
  // Pages of one layer, whose neighbours lie at the same bytes of other pools, and pages of three.
  const std::string_view one = "", three = "  attention_pack_size: 3\n";
  for (const auto& [from, to] : {std::pair(one, three), std::pair(three, one)}) {
    CAPTURE(std::string(from));
    const TransferAnswer answer = pages_answer(from, to);
    std::size_t shown = 0;
    for (const TransferPages& pages : transfer_pages(answer)) {
      if (pages.kind != "full_attention") continue;
      CHECK(pages.from.layers.size() * pages.to.layers.size() == 3);
      for (const PageRun& run : pages.runs) {
        ++shown;
        CHECK(answer.list.contents[static_cast<std::size_t>(run.content)].layer == 3);
      }
    }
    CHECK(shown > 0);
  }
}
