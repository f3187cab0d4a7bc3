#include "ask/start/doctor_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ask/asked_key.h"
#include "attention/kv_format.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "engines/engine.h"
#include "planner/engine_spec.h"

namespace hybridkv {

namespace {

/// Most that may be assumed together; beyond it chance explains anything.
constexpr std::size_t most_doubt = 2;

/// One way to set some keys.
struct Choice {
  std::vector<Assignment> assignments;
  std::size_t doubt = 0;
  std::string assumed = {};  ///< said where doubt > 0
};
using Choices = std::vector<Choice>;

/// Major and minor number of a release, "0.33.0" or "0.20.1rc1.dev27"; nothing for builds that count otherwise
/// ("0.1.dev20073", "dev205").
std::optional<ReleaseNumber> release_number(const std::string& version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc()) return std::nullopt;
  const bool counts_commits = std::string_view(second.ptr, end).starts_with(".dev");
  return counts_commits ? std::nullopt : std::optional(std::pair(major, minor));
}

constexpr std::pair last_with_floor{0, 20};  ///< domain of TokenRule::floor

class Possible {
 public:
  Possible(const DoctorQuestion& question, bool open_steps)
      : log_(question.log), asked_(question.asked), open_steps_(open_steps) {
    if (const auto& version = log_.find(LogKey::version)) number_ = release_number(version->text);
  }

  std::vector<DoctorSettings> all() {
    add_releases();
    if (log_.is_of_pools()) add_pools();
    else add_modes();
    add_dtypes();
    add_parallel();
    if (!log_.is_of_pools()) {
      add_drafts();
      add_rest();
    }
    std::vector<DoctorSettings> settings;
    combine({}, 0, settings);
    std::stable_sort(settings.begin(), settings.end(),
                     [](const DoctorSettings& a, const DoctorSettings& b) { return a.doubt < b.doubt; });
    return settings;
  }

 private:
  bool is_set(const std::string& key) const { return is_asked(asked_, "engine", key); }
  /// A number of the log for a key, if the user does not say it.
  void add_number(const std::string& key, LogKey from) {
    if (const auto value = log_.whole(from); value && !is_set(key))
      axes_.push_back({{{{"engine." + key, std::to_string(*value)}}}});
  }

  /// Does the profile run the scans that the log names, and does it take the layout of the log?
  std::size_t doubt_of(BackendProfile profile) const {
    const ProfileFacts& facts = facts_of(profile);
    const auto& kernel = log_.find(LogKey::gdn_prefill);
    const bool scans_so = !kernel || (kernel->text == "FlashInfer") == (facts.gdn_checkpoint_tokens > 1);
    const auto& layout = log_.find(LogKey::layout);
    const bool lies_so = !layout || std::any_of(facts.orders.begin(), facts.orders.end(), [&](CacheOrder order) {
      return to_string(order) == layout->text;
    });
    return (scans_so ? 0 : 1) + (lies_so ? 0 : 1);
  }

  /// A release by the machines that its rules know, or by the kernel blocks that the log does not say.
  void add_release(const Engine& engine, bool is_other, Choices& choices) const {
    const Assignment release{"engine.release", std::string(engine.rules->name)};
    const std::size_t doubt = is_other ? 2 : 0;
    const std::string assumed(engine.log->assumed);
    if (engine.rules->one_allocation) {
      for (const BackendProfile profile : all_backend_profiles)
        choices.push_back({{release, {"engine.backend_profile", std::string(to_string(profile))}},
                           doubt + doubt_of(profile),
                           is_other ? assumed : "another machine than the kernels or the layout of the log say"});
      return;
    }
    choices.push_back({{release}, doubt, assumed});
    if (is_set("kernel_alignment_tokens")) return;
    for (const std::int64_t grain : engine.log->grains)
      choices.push_back({{release, {"engine.kernel_alignment_tokens", std::to_string(grain)}}, doubt + 1,
                         fmt::format("kernel blocks of at least {} tokens", grain)});
  }

  void add_releases() {
    // Of engines whose log this may be, those of the release that printed it come first.
    Choices choices, others;
    for (const Engine* const engine : all_engines()) {
      if (engine->log == nullptr || (log_.printed_by && engine->log->texts != log_.printed_by)) continue;
      const bool is_other = number_ && !engine->log->is_of(*number_);
      add_release(*engine, is_other, is_other ? others : choices);
    }
    choices.insert(choices.end(), others.begin(), others.end());
    std::erase_if(choices, [&](const Choice& choice) { return is_ruled_out(choice); });
    axes_.push_back(std::move(choices));
  }

  /// The user says another value of one of its keys.
  bool is_ruled_out(const Choice& choice) const {
    const YamlNode* const engine = asked_.root.find("engine");
    if (engine == nullptr) return false;
    return std::any_of(choice.assignments.begin(), choice.assignments.end(), [&](const Assignment& assignment) {
      const YamlNode* const said = engine->find(assignment.first.substr(std::string_view("engine.").size()));
      return said != nullptr && said->text != assignment.second;
    });
  }

  void add_modes() {
    if (is_set("cache_mode")) return;
    const Choice none{{{"engine.cache_mode", "none"}}}, align{{{"engine.cache_mode", "align"}}};
    const Choice all{{{"engine.cache_mode", "all"}}, 1, "states at every boundary (mode all)"};
    const auto& mode = log_.find(LogKey::cache_mode);
    const auto& caching = log_.find(LogKey::prefix_caching);
    if (caching && caching->text == "False")
      axes_.push_back({none});
    else if (mode && parse_cache_mode(mode->text))
      axes_.push_back({{{{"engine.cache_mode", mode->text}}}});
    else if (caching)
      axes_.push_back({align, all});
    else
      axes_.push_back({align, none, all});
  }

  /// Element types: what the log says, else the model's own, with more doubt others.
  void add_dtype(const std::string& key, LogKey from, std::initializer_list<const char*> others) {
    if (is_set(key)) return;
    const auto& said = log_.find(from);
    if (said && said->text != "auto") {
      const auto dtype = parse_dtype(said->text);
      const auto format = key == "kv_dtype" ? parse_kv_format(said->text) : std::nullopt;
      if (dtype || format) {
        axes_.push_back({{{{"engine." + key, std::string(dtype ? to_string(*dtype) : to_string(*format))}}}});
        return;
      }
    }
    Choices choices{{}};
    for (const char* other : others)
      choices.push_back({{{"engine." + key, other}}, 1, fmt::format("{} {}", key, other)});
    axes_.push_back(std::move(choices));
  }
  void add_dtypes() {
    if (!has_rows()) add_dtype("kv_dtype", LogKey::kv_dtype, {"fp8_e4m3"});
    add_dtype("ssm_dtype", LogKey::ssm_dtype, {"fp32", "fp16", "bf16"});
  }

  void add_parallel() {
    if (log_.find(LogKey::tensor_parallel)) {
      add_number("tensor_parallel", LogKey::tensor_parallel);
    } else if (!is_set("tensor_parallel")) {
      Choices choices{{}};
      for (const char* ranks : {"2", "4", "8"})
        choices.push_back({{{"engine.tensor_parallel", ranks}}, 1, fmt::format("{} ranks", ranks)});
      axes_.push_back(std::move(choices));
    }
    for (const auto& [key, from] : {std::pair("pipeline_parallel", LogKey::pipeline_parallel),
                                    std::pair("decode_context_parallel", LogKey::decode_context_parallel)})
      if (log_.whole(from).value_or(1) > 1) add_number(key, from);
  }

  void add_drafts() {
    const std::int64_t drafts = log_.whole(LogKey::speculative_tokens).value_or(0);
    if (drafts > 0) add_number("speculative_tokens", LogKey::speculative_tokens);
    if (drafts == 0 || is_set("mtp_layers")) return;
    const auto& method = log_.find(LogKey::draft_method);
    const Choice one{{{"engine.mtp_layers", "1"}}}, none;
    if (method && method->text.find("mtp") != std::string::npos)
      axes_.push_back({one});
    else
      axes_.push_back({one, none});
  }

  void add_rest() {
    if (log_.find(LogKey::attention_pack_size)) {
      add_number("attention_pack_size", LogKey::attention_pack_size);
    } else if (!is_set("attention_pack_size")) {
      Choices choices{{}};
      constexpr int most = 16;
      for (int pack = 2; pack <= most; ++pack)
        choices.push_back({{{"engine.attention_pack_size", std::to_string(pack)}}, 2,
                           fmt::format("packs of {} layers (PR 35703)", pack)});
      axes_.push_back(std::move(choices));
    }
    if (!is_set("token_rule")) {
      const bool floors = number_ && *number_ <= last_with_floor;
      const Choice by_concurrency{{}, number_ && floors ? 1u : 0u, "tokens counted from the concurrency"};
      const Choice by_floor{{{"engine.token_rule", "floor"}}, number_ && !floors ? 1u : 0u,
                            "tokens counted as engines up to 0.20 do"};
      axes_.push_back(floors ? Choices{by_floor, by_concurrency} : Choices{by_concurrency, by_floor});
    }
    add_number("block_size_tokens", LogKey::user_block_size);
    add_number("max_num_batched_tokens", LogKey::max_num_batched_tokens);
    if (!open_steps_) return;
    Choices choices{{}};
    for (const char* tokens : {"2048", "4096", "16384", "32768"})
      choices.push_back({{{"engine.max_num_batched_tokens", tokens}}, 1, fmt::format("steps of {} tokens", tokens)});
    axes_.push_back(std::move(choices));
  }

  /// Did an engine print the log that keeps rows of states for slots?
  bool has_rows() const {
    const auto engines = all_engines();
    return std::any_of(engines.begin(), engines.end(), [&](const Engine* engine) {
      return engine->log && engine->log->texts == log_.printed_by && engine->abilities == &abilities_of_slots;
    });
  }
  /// What says how large pools are, as users say it. Keys that an engine has not are refused where it is read.
  void add_pools() {
    if (const auto& caching = log_.find(LogKey::prefix_caching); caching && caching->text == "False")
      axes_.push_back({{{{"engine.cache_mode", "none"}}}});
    add_number("page_size", LogKey::page_size);
    if (!has_rows()) {
      add_number("max_mamba_cache_size", LogKey::state_slots);
      if (!log_.find(LogKey::block_size)) add_number("max_total_tokens", LogKey::token_slots);
      add_number("max_running_requests", LogKey::max_num_seqs);
      return;
    }
    const std::int64_t streams = log_.whole(LogKey::streams).value_or(1);
    if (const auto cells = log_.whole(LogKey::token_slots); cells && !is_set("ctx_size")) {
      const std::int64_t all_cells = Checked(*cells) * streams;
      axes_.push_back({{{{"engine.ctx_size", std::to_string(all_cells)},
                         {"engine.kv_unified", streams == 1 ? "true" : "false"}}}});
    }
    add_number("max_running_requests", LogKey::state_slots);
    // Of K and V in two types the log is explained with those that the user says.
    const auto& type = log_.find(LogKey::kv_dtype);
    if (type && type->text != "f16" && !is_set("cache_type_k") && !is_set("cache_type_v"))
      axes_.push_back({{{{"engine.cache_type_k", type->text}, {"engine.cache_type_v", type->text}}}});
  }

  void combine(DoctorSettings so_far, std::size_t axis, std::vector<DoctorSettings>& settings) const {
    if (so_far.doubt > most_doubt) return;
    if (axis == axes_.size()) {
      settings.push_back(std::move(so_far));
      return;
    }
    for (const Choice& choice : axes_[axis]) {
      DoctorSettings next = so_far;
      next.assignments.insert(next.assignments.end(), choice.assignments.begin(), choice.assignments.end());
      next.doubt += choice.doubt;
      if (choice.doubt > 0) next.assumed.push_back(choice.assumed);
      combine(std::move(next), axis + 1, settings);
    }
  }

  const StartupLog& log_;
  const ScenarioFile& asked_;
  bool open_steps_ = false;
  std::optional<ReleaseNumber> number_;
  std::vector<Choices> axes_;
};

}  // namespace

std::vector<DoctorSettings> possible_settings(const DoctorQuestion& question, const ModelSpec& model) {
  return Possible(question, steps_are_open(question, model)).all();
}

bool steps_are_open(const DoctorQuestion& question, const ModelSpec& model) {
  if (question.log.find(LogKey::max_num_batched_tokens)) return false;
  if (is_asked(question.asked, "engine", "max_num_batched_tokens")) return false;
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
    return layer.attention && layer.attention->window_tokens > 0;
  });
}

}  // namespace hybridkv
