#include "ask/replay/policy_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <type_traits>

#include "base/error.h"
#include "simulator/pool/hybridkv_policy.h"

namespace hybridkv {

namespace {

hybridkv_prefix told(const PrefixFacts& facts) {
  return {.id = facts.id,
          .tokens = facts.tokens,
          .saved_tokens = facts.saved_tokens,
          .memory_tokens = facts.memory_tokens,
          .uses = facts.uses,
          .turn = facts.turn,
          .prompt_tokens = facts.prompt_tokens,
          .branches = facts.branches,
          .longer = facts.longer,
          .made = facts.made,
          .last_use = static_cast<std::int64_t>(facts.since),
          .now = facts.now};
}

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

/// A loaded library, and what it is made with.
struct LoadedPolicy {
  std::string name, settings;
  std::unique_ptr<void, CloseLibrary> handle;
  std::add_pointer_t<decltype(hybridkv_make_policy)> make = nullptr;
};

class CompiledPolicy final : public PrefixPolicy {
 public:
  explicit CompiledPolicy(std::shared_ptr<const LoadedPolicy> library) : library_(std::move(library)) {
    const char* const refused = library_->make(HYBRIDKV_POLICY_VERSION, library_->settings.c_str(), &policy_);
    if (refused != nullptr) throw InputError(fmt::format("--policy {}: {}", library_->name, refused));
    if (policy_.rank == nullptr)
      throw InputError(fmt::format("--policy {}: hybridkv_make_policy gave no function `rank`", library_->name));
  }
  ~CompiledPolicy() override {
    if (policy_.destroy != nullptr) policy_.destroy(policy_.self);
  }
  CompiledPolicy(const CompiledPolicy&) = delete;
  CompiledPolicy& operator=(const CompiledPolicy&) = delete;

  double rank(const PrefixFacts& facts) override {
    const hybridkv_prefix prefix = told(facts);
    const double rank = policy_.rank(policy_.self, &prefix);
    if (std::isnan(rank))
      throw InputError(fmt::format("--policy {}: the rank of a prefix of {} tokens is not a number", library_->name,
                                   facts.tokens));
    return rank;
  }
  bool keeps(const PrefixFacts& facts) override {
    if (policy_.keeps == nullptr) return true;
    const hybridkv_prefix prefix = told(facts);
    return policy_.keeps(policy_.self, &prefix) != 0;
  }
  void used(const PrefixFacts& facts) override { tell(policy_.used, facts); }
  void went(const PrefixFacts& facts) override { tell(policy_.went, facts); }

 private:
  void tell(void (*function)(void*, const hybridkv_prefix*), const PrefixFacts& facts) {
    if (function == nullptr) return;
    const hybridkv_prefix prefix = told(facts);
    function(policy_.self, &prefix);
  }

  std::shared_ptr<const LoadedPolicy> library_;
  hybridkv_policy policy_{};
};

}  // namespace

std::shared_ptr<const OwnPolicy> policy_of_library(const std::string& file, const std::string& settings) {
  // Without a slash the loader would look among the libraries of the system.
  const std::filesystem::path path = std::filesystem::absolute(file);
  auto library = std::make_shared<LoadedPolicy>();
  library->name = path.filename().string();
  library->settings = settings;
  library->handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library->handle) throw InputError(fmt::format("--policy: no library can be loaded: {}", dlerror()));
  void* const found = dlsym(library->handle.get(), "hybridkv_make_policy");
  if (found == nullptr)
    throw InputError(fmt::format("--policy {}: the library has no function hybridkv_make_policy; compile it with "
                                 "hybridkv_policy.h, as docs/research.md shows", file));
  library->make = reinterpret_cast<decltype(library->make)>(found);
  const auto make = [library] { return std::make_unique<CompiledPolicy>(library); };
  make();  // settings that it refuses are refused before the replay
  return std::make_shared<OwnPolicy>(OwnPolicy{library->name, make});
}

}  // namespace hybridkv
