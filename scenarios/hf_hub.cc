#include "scenarios/hf_hub.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view hub_prefix = "hf://";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path cache_folder() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  return fs::path(environment("HOME")) / ".cache" / "huggingface" / "hub";
}

/// "organisation/name" of the model; one of the two alone is no name.
std::string model_of(const std::string& path) {
  std::string name = path.substr(hub_prefix.size());
  while (name.ends_with('/')) name.pop_back();
  const std::size_t slash = name.find('/');
  const bool is_name = slash != std::string::npos && slash > 0 && name.find('/', slash + 1) == std::string::npos &&
                       name.find("..") == std::string::npos;
  if (!is_name)
    throw InputError(fmt::format("{} names no model of the hub; write hf://organisation/name, as hf://Qwen/Qwen3-8B",
                                 in_quotes(path)));
  return name;
}

}  // namespace

bool is_hub_name(const std::string& path) { return path.starts_with(hub_prefix); }

std::string hub_config(const std::string& path) {
  const std::string name = model_of(path);
  const std::size_t slash = name.find('/');
  const fs::path model = cache_folder() / ("models--" + name.substr(0, slash) + "--" + name.substr(slash + 1));
  FileText revision = read_text_file((model / "refs" / "main").string());
  while (!revision.text.empty() && revision.text.back() == '\n') revision.text.pop_back();
  const fs::path config = model / "snapshots" / revision.text / "config.json";
  std::error_code error;
  if (revision.problem.empty() && fs::is_regular_file(config, error)) return config.string();
  throw InputError(fmt::format("{}: not in the cache of the hub ({}); `hf download {} config.json` puts it there; or "
                               "save the config.json of its page and import that file",
                               in_quotes(path), cache_folder().string(), name));
}

}  // namespace hybridkv
