// Models named by their place on the hub, found in the folder of what was fetched.
#include "scenarios/hf_hub.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "scenario_text.h"
#include "scenarios/model_import.h"
#include "tests/scratch_folder.h"

namespace hybridkv::test {

namespace {

namespace fs = std::filesystem;

/// HF_HUB_CACHE set to a folder while it lives.
class HubCache {
 public:
  explicit HubCache(const fs::path& folder) { ::setenv("HF_HUB_CACHE", folder.c_str(), 1); }
  ~HubCache() { ::unsetenv("HF_HUB_CACHE"); }
};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("golden: a model that was fetched is imported by its name on the hub") {
  const hybridkv::testing::ScratchFolder folder;
  const HubCache cache(folder.path);
  const fs::path model = folder.path / "models--someone--Some-Model-7B";
  write(model / "refs" / "main", "abc123\n");
  write(model / "snapshots" / "abc123" / "config.json", "{\"model_type\": \"llama\", \"dtype\": \"bfloat16\"}");
  const ImportedModel imported = import_model("hf://someone/Some-Model-7B");
  CHECK(imported.model.name == "Some-Model-7B");
  CHECK(imported.model.layers.size() == 32);
}

TEST_CASE("edge: a model that was not fetched is told with the command that gets it") {
  const hybridkv::testing::ScratchFolder folder;
  const HubCache cache(folder.path);
  const std::string error = error_of([] { hub_config("hf://someone/Other"); });
  CHECK(error.find("`hf download someone/Other config.json` puts it there") != std::string::npos);
  CHECK(error.find(folder.path.string()) != std::string::npos);
  for (const std::string name : {"hf://", "hf://someone", "hf://someone/", "hf:///x", "hf://a/b/c", "hf://../x"})
    CHECK(error_of([&] { hub_config(name); }).find("names no model of the hub") != std::string::npos);
  CHECK(error_of([] { hub_config("hf://x/y"); }).find("`hf download x/y config.json`") != std::string::npos);
  CHECK(!is_hub_name("someone/Other"));
}

}  // namespace hybridkv::test
