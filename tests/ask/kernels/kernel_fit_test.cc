#include "ask/kernels/kernel_fit.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "planner/plan.h"
#include "tests/kernel_cards.h"
#include "tests/planner/models.h"
#include "tests/verify/plans.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

namespace hybridkv {
namespace {

using testing::attention_card;

KernelCard state_card(const char* family) {
  KernelCard card{.name = "step", .check = "state", .family = family, .home = "slot, head, value, key"};
  card.views.push_back({.name = "state", .axes = {"slot", "head", "value", "key"}});
  return card;
}

/// Of a layer 2 KV heads of 16 channels, N layers to a page.
CachePlan packed(std::int64_t pack) { return testing::small_plan(pack); }

TEST_CASE("rule: a kernel that takes every stride fits every layout, and says by what it was tried") {
  const KernelFit fit = kernel_fit(attention_card(), packed(3));
  CHECK(fit.verdict == KernelVerdict::fits);
  CHECK(kernel_sentence(fit) ==
        "mine.attend 1.0 fits: it takes or rightly derives every stride of 6 layers, by numpy on cpu");
}

TEST_CASE("rule: a derived stride corrupts where the plan has another, with both numbers") {
  KernelCard card = attention_card();
  card.views[1].derives = {{"block", StrideRule::next, {"token"}, 1, ""}};
  const KernelFit fit = kernel_fit(card, packed(3));
  CHECK(fit.verdict == KernelVerdict::corrupts);
  REQUIRE(fit.reasons.size() == 1);
  CHECK(fit.reasons[0].starts_with("the stride of v's block of layer 1 is "));
  CHECK(fit.reasons[0].find("without asking; 5 layers more alike") != std::string::npos);
  // The channel is dense in every layout that this order makes.
  card.views[1].derives = {{"channel", StrideRule::extents, {}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  card.views[1].derives = {{"head", StrideRule::extents, {"channel"}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  card.views[1].derives = {{"head", StrideRule::extents, {"channel"}, 2, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::corrupts);
  card.views[1].derives = {{"head", StrideRule::unknown, {}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::unknown);
}

TEST_CASE("rule: K's strides for V are right where both are alike, and the slots of one allocation show it") {
  KernelCard card = attention_card();
  for (const char* axis : {"block", "token", "head", "channel"})
    card.views[1].derives.push_back({axis, StrideRule::stride_of, {}, 1, "k"});
  CHECK(kernel_fit(card, packed(1)).verdict == KernelVerdict::fits);
}

TEST_CASE("rule: strides that are refused, offsets of 32 bits, stale slots, and a wrong dense layout") {
  KernelCard card = attention_card();
  card.views[0].refuses = {"block"};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::refuses);
  card.views[0].refuses = {"channel", "head", "token"};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  card.home = "nhd, joined by channel";
  const KernelFit joined = kernel_fit(card, packed(3));
  CHECK(joined.verdict == KernelVerdict::refuses);
  CHECK(joined.reasons.size() == 2);  // the channel is dense in that home too
  card = attention_card();
  card.views[0].narrow = {"block"};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.memory_bytes = 80 * testing::gib;
  const CachePlan large = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
  const KernelFit wrapped = kernel_fit(card, large);
  CHECK(wrapped.verdict == KernelVerdict::corrupts);
  CHECK(wrapped.reasons[0].find("elements, and it counts in 32 bits") != std::string::npos);
  card = attention_card();
  card.stale_safe = false;
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::stale);
  card.home.clear();
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::unknown);
}

TEST_CASE("rule: kernels of states are held against states of their family, whatever the axes are called") {
  KernelCard card = state_card("gdn");
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  CHECK(kernel_fit(state_card("mamba2"), packed(3)).verdict == KernelVerdict::not_used);
  card.views[0].derives = {{"head", StrideRule::extents, {"value", "key"}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
  card.views[0].derives = {{"slot", StrideRule::next, {"head"}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::corrupts);
  card.views[0].axes = {"slot", "head", "row", "column"};
  card.views[0].derives = {{"head", StrideRule::extents, {"row", "column"}, 1, ""}};
  CHECK(kernel_fit(card, packed(3)).verdict == KernelVerdict::fits);
}

TEST_CASE("rule: where the engine makes no views of what it plans, nothing is known of any kernel") {
  CachePlan plan = packed(3);
  plan.views.clear();
  plan.view_error = "it has no such page";
  judge_kernels({attention_card(), state_card("gdn")}, plan);
  REQUIRE(plan.kernels.size() == 2);
  for (const KernelFit& fit : plan.kernels) CHECK(fit.verdict == KernelVerdict::unknown);
  CHECK(plan.kernels[0].reasons[0].ends_with("makes no views of it: it has no such page"));
  CHECK(plan.warnings.back().code == "kernel_unknown");
}

TEST_CASE("rule: a verdict has its row in the table of words, and the worst of several is said") {
  for (const KernelVerdictWords& one : kernel_verdict_words) CHECK(&words_of(one.verdict) == &one);
  CHECK(words_of(KernelVerdict::stale).name == "stale");
  std::vector<KernelFit> fits{{"a", KernelVerdict::stale, {}}, {"b", KernelVerdict::fits, {}}};
  CHECK(worst_fit(fits)->kernel == "a");
  CHECK_FALSE(harms_kernel(fits));
  fits.push_back({"c", KernelVerdict::refuses, {}});
  CHECK(worst_fit(fits)->kernel == "c");
  CHECK(harms_kernel(fits));
  CHECK_FALSE(corrupts_kernel(fits));
  CHECK(worst_fit({}) == nullptr);
}

constexpr const char* card_text = R"({"schema": "hybridkv-kernel-card/1",
  "kernel": {"name": "write", "package": null, "version": null}, "check": "write", "family": null,
  "home": "nhd, apart", "answer": "v: derives token from k's stride", "stale_safe": null,
  "groups": [{"group": "k", "axes": ["block", "token", "head", "channel"], "derives": [], "refuses": [],
              "offset_bits": [{"axis": "head", "bits": 32}, {"axis": "block", "bits": null}]},
             {"group": "v", "axes": ["block", "token", "head", "channel"], "refuses": ["channel"], "offset_bits": [],
              "derives": [{"axis": "block", "rule": "next", "extents": ["token"], "factor": 1, "stride_of": null}]}],
  "ran": {"arrays": "torch", "device": "cpu", "interpreter": true}})";

TEST_CASE("rule: cards are read, and what they have against a plan is a warning of it") {
  const testing::ScratchFolder scratch;
  const std::string file = scratch.file("mine.card.json", card_text);
  const KernelCard card = read_kernel_card(file);
  CHECK(card.title() == "write");
  CHECK(card.views[0].narrow == std::vector<std::string>{"head"});
  CHECK(card.ran == "torch on cpu, in Triton's interpreter");
  CachePlan plan = packed(3);
  const std::size_t before = plan.warnings.size();
  judge_kernels(read_kernel_cards({file}), plan);
  REQUIRE(plan.kernels.size() == 1);
  REQUIRE(plan.warnings.size() == before + 1);
  CHECK(plan.warnings.back().code == "kernel_corrupts");
  CHECK(plan.warnings.back().message.starts_with("write would silently corrupt this layout: the stride of v's block"));
  CHECK(corrupts_kernel(plan.kernels));
  plan = packed(3);
  judge_kernels({}, plan);
  CHECK(plan == packed(3));
}

TEST_CASE("rule: the cards that come along are read, and say what is known of vLLM's kernels under its own layouts") {
  std::map<std::string, KernelCard> cards;
  for (const auto& entry : std::filesystem::directory_iterator(HYBRIDKV_SOURCE_DIR "/python/hybridkv/testing/cards")) {
    CAPTURE(entry.path().string());
    const KernelCard card = read_kernel_card(entry.path().string());
    CHECK(!card.answer.empty());
    CHECK(!card.views.empty());
    cards.emplace(entry.path().stem().stem().string(), card);
  }
  CHECK(cards.size() >= 30);
  EngineSpec engine;
  engine.rules = &rules_of_vllm_0_33;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 40 * testing::gib;
  const CachePlan plan = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
  const auto verdict = [&](const char* name) { return kernel_fit(cards.at(name), plan).verdict; };
  CHECK(verdict("vllm.unified_attention") == KernelVerdict::fits);
  CHECK(verdict("vllm.reshape_and_cache_flash") == KernelVerdict::fits);  // K's strides are V's there
  CHECK(verdict("vllm.unified_attention_descriptors") == KernelVerdict::stale);
  CHECK(verdict("vllm.recurrent_gated_delta_rule") == KernelVerdict::fits);  // inside of a slot a state is dense
  CHECK(verdict("vllm.recurrent_kda") == KernelVerdict::not_used);
  // Its card says the same of these two orders at tiny sizes: blocks of a layer follow each other in the first alone.
  CHECK(verdict("torch.write_reshaped") == KernelVerdict::fits);
  engine.cache_order = CacheOrder::blnhc;
  const CachePlan by_block = make_plan(testing::qwen35_397b(), engine, {.max_model_lens = {32'768}});
  CHECK(kernel_fit(cards.at("torch.write_reshaped"), by_block).verdict == KernelVerdict::corrupts);
  CHECK(verdict("torch.state_flattened") == KernelVerdict::fits);
}

TEST_CASE("message: what is no card is refused with the key at fault") {
  const testing::ScratchFolder scratch;
  const auto refusal = [&](std::string text) -> std::string {
    try {
      read_kernel_card(scratch.file("bad.card.json", text));
      return "read";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const auto changed = [](std::string_view from, std::string_view to) {
    std::string text = card_text;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(refusal(card_text) == "read");
  CHECK(refusal("[1]").find("is no JSON object, so no card of a kernel") != std::string::npos);
  CHECK(refusal("{\"schema\"").find("is no JSON object") != std::string::npos);
  CHECK(refusal(changed("card/1", "card/9")).find("schema: is 'hybridkv-kernel-card/9'") != std::string::npos);
  CHECK(refusal(changed("\"home\"", "\"house\"")).find("home: is missing; cards are written by") != std::string::npos);
  CHECK(refusal(changed("\"next\"", "\"nxt\"")).find("rule: 'nxt' is none") != std::string::npos);
  CHECK(refusal(changed("[\"token\"]", "[]")).find("extents: of rule next names one axis") != std::string::npos);
  CHECK(refusal(changed("\"factor\": 1", "\"factor\": 0")).find("factor: is no whole number") != std::string::npos);
  CHECK(refusal(changed("\"groups\": [", "\"groups\": 3, \"old\": [")).find("groups: is no list") != std::string::npos);
}

}  // namespace
}  // namespace hybridkv
