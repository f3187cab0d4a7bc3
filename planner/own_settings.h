#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace hybridkv {

/// How the value of a setting is written.
enum class SettingType {
  flag,    ///< true or false
  count,   ///< of ranks, or of what else is few
  amount,  ///< of requests or slots
  tokens,
  choice,  ///< one of some words; the value is its position
};

/// A setting that some engines have and most do not. It stands beside the mechanism that reads it; the folder of an
/// engine that takes it says what it means there (EngineRules::own_keys).
struct SettingKey {
  std::string_view name;                           ///< "page_size": a scenario says engine.page_size
  SettingType type = SettingType::tokens;
  std::optional<std::int64_t> standard = {};       ///< its value unless set; none where that depends on other things
  std::int64_t least = 1;
  std::int64_t most = std::int64_t(1) << 40;
  std::span<const std::string_view> choices = {};  ///< the words
};

/// A setting with the type of its values: bool, std::int64_t, or an enumeration whose values count from 0.
template <class T>
struct Setting : SettingKey {};

/// Those of these settings that are set, with their values. Only a typed setting reads its value.
class OwnSettings {
 public:
  /// As set, else its standard. Pre: it has one.
  template <class T>
  T operator[](const Setting<T>& setting) const {
    return find(setting).value_or(static_cast<T>(setting.standard.value()));
  }

  /// As set; nothing where it is not.
  template <class T>
  std::optional<T> find(const Setting<T>& setting) const {
    const auto found = values_.find(setting.name);
    return found == values_.end() ? std::nullopt : std::optional(static_cast<T>(found->second));
  }

  template <class T>
  void set(const Setting<T>& setting, std::type_identity_t<T> value) {
    set_number(setting, static_cast<std::int64_t>(value));
  }

  /// For readers of files, which know keys and no types.
  void set_number(const SettingKey& setting, std::int64_t value) { values_[setting.name] = value; }

  void reset(const SettingKey& setting) { values_.erase(setting.name); }

  /// What is set, by name.
  const std::map<std::string_view, std::int64_t>& values() const { return values_; }

  bool operator==(const OwnSettings&) const = default;

 private:
  std::map<std::string_view, std::int64_t> values_;
};

}  // namespace hybridkv
