// What `doctor` says of requests that it replayed.
#include "report/run_report.h"

#include <doctest/doctest.h>

using namespace hybridkv;

namespace {

ReplayedSetting replayed_setting(const char* command, std::int64_t hit_tokens) {
  ReplayedSetting setting{.what = command, .command = command};
  TreeStats stats;
  stats.requests = 2;
  stats.prompt_tokens = stats.taken_prompt_tokens = 100;
  stats.hit_tokens = hit_tokens;
  setting.cache.index = stats;
  return setting;
}

/// The commands below a replay of these settings.
std::vector<std::string> commands_below(std::vector<ReplayedSetting> settings) {
  DoctorAnswer answer;
  answer.replay = LogReplay{.trace = "a trace", .requests = 2, .prompt_tokens = 100, .search_command = "search",
                            .settings = std::move(settings)};
  Document document;
  add_log_replay(document, answer);
  REQUIRE_FALSE(document.blocks.empty());
  return std::get<Code>(document.blocks.back()).lines;
}

}  // namespace

TEST_CASE("golden: below a replay stand its command, that of a setting which finds more, and the search, once each") {
  using Lines = std::vector<std::string>;
  CHECK(commands_below({replayed_setting("as found", 40)}) == Lines{"as found", "search"});
  CHECK(commands_below({replayed_setting("as found", 40), replayed_setting("other", 40)}) ==
        Lines{"as found", "search"});
  CHECK(commands_below({replayed_setting("as found", 40), replayed_setting("other", 41)}) ==
        Lines{"as found", "other", "search"});
}
