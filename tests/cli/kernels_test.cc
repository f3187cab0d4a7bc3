// --kernels means the same wherever a layout is planned: which kernels it harms, and exit code 1 where one corrupts it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv::testing;
using nlohmann::json;

namespace {

/// A card of a kernel of attention that takes every stride but that of K's block, which is `factor` elements a slot.
std::string card_text(int factor) {
  json group{{"group", "k"},           {"axes", {"block", "token", "head", "channel"}}, {"derives", json::array()},
             {"refuses", json::array()}, {"offset_bits", json::array()}};
  json of_v = group;
  of_v["group"] = "v";
  group["derives"].push_back({{"axis", "block"},
                              {"rule", "extents"},
                              {"extents", {"token", "head", "channel"}},
                              {"factor", factor},
                              {"stride_of", nullptr}});
  return json{{"schema", "hybridkv-kernel-card/1"},
              {"kernel", {{"name", "attend"}, {"package", "mine"}, {"version", "1.0"}}},
              {"check", "attention"},
              {"family", nullptr},
              {"home", "nhd, apart"},
              {"answer", "k: derives the stride of block"},
              {"stale_safe", true},
              {"groups", {group, of_v}},
              {"ran", {{"arrays", "numpy"}, {"device", "cpu"}, {"interpreter", false}}}}
      .dump();
}

/// Right where a page holds K and V of one layer; wrong in every layout.
struct Cards {
  ScratchFolder folder;
  std::string one_layer = folder.file("one.card.json", card_text(2));
  std::string wrong = folder.file("wrong.card.json", card_text(7));
};

ProgramRun asked(const std::string& words, const std::string& cards) {
  return run_program(words + " --kernels " + cards + " -q");
}

json asked_json(const std::string& words, const std::string& cards) {
  return json::parse(asked(words + " --format json", cards).output);
}

const std::string scenario = "qwen3.5-397b --mode align";
const std::string searched = "recommend " + scenario + " --modes align --block-sizes 0 --requests 60";

}  // namespace

TEST_CASE("law: of one layout plan, recommend, boot and compare say the same object and exit code") {
  const Cards cards;
  const std::string both = cards.one_layer + " " + cards.wrong;
  for (const std::string& given : {cards.one_layer, cards.wrong, both}) {
    for (const char* pack : {" --pack 1", " --pack 5"}) {
      CAPTURE(given);
      CAPTURE(pack);
      const std::string of = scenario + pack;
      const json fits = asked_json("plan " + of, given)["plans"][0]["kernels"];
      const bool corrupts = fits.dump().find("\"corrupts\"") != std::string::npos;
      CHECK(corrupts == (given != cards.one_layer || std::string(pack) == " --pack 5"));
      CHECK(asked("plan " + of, given).exit_code == (corrupts ? 1 : 0));
      CHECK(asked_json("boot " + of, given)["kernels"] == fits);
      CHECK(asked("boot " + of, given).exit_code == (corrupts ? 1 : 0));
      CHECK(asked_json(searched + pack, given)["kernels"] == fits);
      CHECK(asked(searched + pack, given).exit_code == (corrupts ? 1 : 0));
      const std::string varied = "compare " + of + " --vary engine.kv_dtype=bf16,fp8";
      CHECK(asked_json(varied, given)["settings"][0]["kernels"] == fits);
      CHECK(asked(varied, given).exit_code == (corrupts ? 1 : 0));
    }
  }
}

TEST_CASE("golden: CSV of plan, boot and compare has the verdicts, and nothing of kernels where no card was given") {
  const Cards cards;
  const std::string of = scenario + " --pack 5", both = cards.one_layer + " " + cards.wrong;
  const std::string plan = asked("plan " + of + " --format csv", both).output;
  CHECK(contains(plan, ",kernels,kernel_harm\n"));
  CHECK(contains(plan, ",corrupts,\"mine.attend 1.0 would silently corrupt this layout: the stride of k's block of "));
  CHECK(contains(asked("plan " + scenario + " --pack 1 --format csv", cards.one_layer).output, ",fits,\n"));
  CHECK(contains(asked("boot " + of + " --format csv", cards.one_layer).output, "\nkernel mine.attend 1.0,corrupts\n"));
  const std::string varied = "compare " + scenario + " --vary engine.attention_pack_size=1,5 --format csv";
  CHECK(contains(asked(varied, cards.one_layer).output, "\nkernel mine.attend 1.0,,fits,corrupts,true,\n"));
  CHECK(contains(asked(varied, cards.wrong).output, "\nkernel mine.attend 1.0,,corrupts,corrupts,false,\n"));
  CHECK(!contains(run_program("plan " + of + " --format csv -q").output, ",kernels"));
  CHECK(!contains(run_program("boot " + of + " --format csv -q").output, "\nkernel "));
}

TEST_CASE("rule: a card flips the pick of recommend, and its sentence and its rows say why") {
  const Cards cards;
  const std::string packs = searched + " --packs 1,5";
  CHECK(contains(run_program(packs + " -q").output, "Take N = 5, "));
  const ProgramRun run = asked(packs, cards.one_layer);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "Without the kernels it would be N = 5, mode align"));
  CHECK(contains(run.output, "passed over"));
  const json answer = asked_json(packs, cards.one_layer);
  CHECK(contains(answer["reasons"]["changes"].dump(), ", which harms a kernel: "));
  const json& pick = answer["candidates"][answer["pick"].get<std::size_t>()];
  const json& passed = answer["candidates"][answer["pick_without_kernels"].get<std::size_t>()];
  CHECK(pick["attention_pack_size"] == 1);
  CHECK(pick["kernels"] == "fits");
  CHECK(passed["attention_pack_size"] == 5);
  CHECK(passed["kernels"] == "corrupts");
  CHECK(passed["passed_over"] == true);
  CHECK(contains(passed["kernel_harm"].get<std::string>(),
                 "mine.attend 1.0 would silently corrupt this layout: the stride of k's block of layer 3 is "
                 "1,105,920, and it takes 221,184 without asking"));
  CHECK(contains(asked(packs, cards.wrong).output, "Nothing that may be picked suits all kernels: mine.attend 1.0"));
  CHECK_FALSE(json::parse(run_program(packs + " -q --format json").output).contains("kernels"));
}

TEST_CASE("rule: boot says first whether it boots, and then what corrupts") {
  const Cards cards;
  const ProgramRun none = asked("boot " + scenario + " --memory 100MiB", cards.wrong);
  CHECK(none.exit_code == 3);
  const ProgramRun run = asked("boot " + scenario, cards.wrong);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "boots by the rules of"));
  CHECK(contains(run.output, "! mine.attend 1.0 would silently corrupt this layout: "));
  // Where the folder of temporary files has a long name, the line breaks before the path.
  const std::string line = std::regex_replace(run.output, std::regex("[\\s\\\\]+"), " ");
  CAPTURE(line);
  CHECK(contains(line, "hybridkv boot qwen3.5-397b --mode align --kernels " + cards.wrong));
}

TEST_CASE("rule: a report has the kernels of each layout, and a warning first where one corrupts it") {
  const Cards cards;
  const std::string into = " -o " + (cards.folder.path / "report").string() + " --no-verify --force";
  const auto page = [&] { return text_of(cards.folder.path / "report" / "report.md"); };
  const std::string asking = "report " + scenario + " --pack 1,5 --requests 60" + into;
  CHECK(asked(asking, cards.one_layer).exit_code == 1);
  const std::string text = page();
  CHECK(contains(text, "| **mine.attend 1.0** | **fits** | **fits** | **corrupts** |"));
  const std::size_t warned = text.find("N = 5: mine.attend 1.0 would silently corrupt this layout");
  CHECK(warned < text.find("## What to set"));
  CHECK(contains(text, "--kernels " + cards.one_layer + " -o report"));
  CHECK(asked("report " + scenario + " --engines vllm-2026-06,vllm-0.33 --pack 1 --requests 60" + into,
              cards.one_layer + " " + cards.wrong).exit_code == 1);
  CHECK(contains(page(), "vllm-0.33: mine.attend 1.0 would silently corrupt this layout"));
  CHECK(asked("report " + scenario + " --pack 1 --requests 60" + into, cards.one_layer).exit_code == 0);
  CHECK_FALSE(contains(page(), "N = 1: mine.attend"));
}

TEST_CASE("rule: cards are read once, however many plans are made, so that one may come through a pipe") {
  const Cards cards;
  const auto piped = [&](const std::string& words) {
    return run_shell("cat " + cards.one_layer + " | $HYBRIDKV " + words + " --kernels /dev/stdin -q");
  };
  CHECK(piped("plan " + scenario + " --pack 1 --engines vllm-2026-06,jenga").exit_code == 1);
  CHECK(piped("compare " + scenario + " --pack 1,5").exit_code == 1);
  CHECK(piped(searched + " --pack 1 --engines vllm-2026-06,vllm-0.33").exit_code == 0);
  CHECK(piped("boot " + scenario + " --pack 1").exit_code == 0);
}

TEST_CASE("message: what is no card, and what no kernel sees, is refused") {
  const Cards cards;
  for (const char* words : {"boot qwen3.5-397b", "recommend qwen3.5-397b", "compare qwen3.5-397b --pack 1,5"}) {
    CAPTURE(words);
    const ProgramRun run = asked(words, cards.folder.file("bad.card.json", "[1]"));
    CHECK(run.exit_code == 2);
    CHECK(contains(run.output, "is no JSON object, so no card of a kernel"));
  }
  const ProgramRun run = asked("recommend qwen3.5-397b --pack 1 --mode align --checkpoints", cards.one_layer);
  CHECK(run.exit_code == 2);
  CHECK(contains(run.output, "--kernels: --checkpoints asks where states are kept, which no kernel sees"));
}
