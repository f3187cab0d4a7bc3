#include "ask/models.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace hybridkv;

TEST_CASE("law: no name and no family is every shipped model, each with a plan") {
  const std::vector<ListedModel> all = list_models("", "");
  CHECK(all.size() == shipped_models().size());
  for (const ListedModel& one : all) CHECK_FALSE(one.plan.specs.empty());
}

TEST_CASE("golden: models by a part of their name or a further one, and by family") {
  const auto names = [](const std::vector<ListedModel>& models) {
    std::vector<std::string> list;
    for (const ListedModel& one : models) list.push_back(one.model.name);
    return list;
  };
  CHECK(names(list_models("qwen3.5-397b", "gdn")) == std::vector<std::string>{"Qwen3.5-397B-A17B"});
  CHECK(list_models("qwen3.5-397b", "mamba2").empty());
  CHECK(list_models("no such model", "").empty());
  const std::vector<std::string> families = shipped_families();
  CHECK(std::is_sorted(families.begin(), families.end()));
  CHECK(std::find(families.begin(), families.end(), "gdn") != families.end());
}
