// Settings of a dual pool with a radix tree: grids, and what is refused.
#include "simulator/tree/tree_settings.h"

#include <doctest/doctest.h>

#include <functional>

#include "base/error.h"

using namespace hybridkv;

TEST_CASE("golden: grids of states are those of SGLang 0.5.23") {
  TreeSettings settings{.token_slots = 1000, .state_slots = 4};
  CHECK(settings.checkpoint_grid() == 64);
  CHECK(settings.decode_grid() == 256);
  settings.page = 128;
  CHECK(settings.state_chunk() == 128);
  CHECK(settings.checkpoint_grid() == 128);
  settings = {.token_slots = 1000, .state_slots = 4, .page = 16, .model_chunk = 24, .track_interval = 160};
  CHECK(settings.checkpoint_grid() == 48);
  CHECK(settings.decode_grid() == 480);
}

TEST_CASE("golden: tracking slots by strategy") {
  TreeSettings settings{.state_slots = 4};
  CHECK(settings.tracking_slots() == 2);
  settings.overlap = false;
  CHECK(settings.tracking_slots() == 1);
  settings = {.state_slots = 4, .strategy = TreeStrategy::extra_buffer_lazy};
  CHECK(settings.tracking_slots() == 1);
  settings = {.state_slots = 4, .strategy = TreeStrategy::no_buffer};
  CHECK(settings.tracking_slots() == 0);
  settings = {.state_slots = 0};
  CHECK(settings.tracking_slots() == 0);
}

TEST_CASE("edge: settings that cannot be used are refused by name") {
  const auto refused = [](const char* field, const std::function<void(TreeSettings&)>& change) {
    TreeSettings settings{.token_slots = 1000, .state_slots = 4};
    settings.check();
    change(settings);
    std::string path;
    try {
      settings.check();
    } catch (const SpecError& error) {
      path = error.path();
    }
    CHECK(path == std::string("radix.") + field);
  };
  refused("page", [](TreeSettings& s) { s.page = 0; });
  refused("page", [](TreeSettings& s) { s.page = 16, s.strategy = TreeStrategy::no_buffer; });
  refused("token_slots", [](TreeSettings& s) { s.token_slots = 0; });
  refused("strategy", [](TreeSettings& s) { s.strategy = TreeStrategy::automatic; });
  refused("strategy", [](TreeSettings& s) { s.strategy = TreeStrategy::extra_buffer_lazy, s.overlap = false; });
  refused("state_slots", [](TreeSettings& s) { s.state_slots = -1; });
  refused("state_slots", [](TreeSettings& s) { s.state_slots = std::int64_t{1} << 40; });
  refused("token_slots", [](TreeSettings& s) { s.token_slots = std::int64_t{1} << 40, s.numbers_pages = true; });
  refused("chunk_tokens", [](TreeSettings& s) { s.page = 64, s.chunk_tokens = 100, s.track_interval = 64; });
  refused("model_chunk", [](TreeSettings& s) { s.model_chunk = 0; });
  refused("track_interval", [](TreeSettings& s) { s.page = 64, s.chunk_tokens = 64, s.track_interval = 100; });
  refused("max_states_per_path", [](TreeSettings& s) { s.max_states_per_path = 0; });
}
