#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hybridkv {

/// How the value of a setting is written.
enum class SettingType {
  flag,    ///< true or false
  count,   ///< of ranks, or of what else is few
  amount,  ///< of requests or slots
  bytes,   ///< of memory, with a unit or without
  tokens,
  choice,  ///< one of some words; the value is its position
  lengths, ///< a list of numbers of tokens
  shares,  ///< a list of numbers with fractions
};

/// A value of any type.
using SettingValue = std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<double>>;

/// Is a value of this type a list?
template <class T>
inline constexpr bool is_list_value = std::is_same_v<T, std::vector<std::int64_t>> ||
                                      std::is_same_v<T, std::vector<double>>;

/// A setting that some engines have and most do not. It stands beside the mechanism that reads it; the folder of an
/// engine that takes it says what it means there (EngineRules::own_keys).
struct SettingKey {
  std::string_view name;                           ///< "page_size": a scenario says engine.page_size
  SettingType type = SettingType::tokens;
  std::optional<std::int64_t> standard = {};       ///< its value unless set; none where that depends on other things
  std::int64_t least = 1;                          ///< of each value of a list
  std::int64_t most = std::int64_t(1) << 40;
  std::span<const std::string_view> choices = {};  ///< the words
};

/// A setting with the type of its values: bool, std::int64_t, an enumeration whose values count from 0, or a list.
template <class T>
struct Setting : SettingKey {};

/// Those of these settings that are set, with their values. Only a typed setting reads its value.
class OwnSettings {
 public:
  /// As set, else its standard, of a list none. Pre: it has one, or is a list.
  template <class T>
  T operator[](const Setting<T>& setting) const {
    if constexpr (is_list_value<T>) return find(setting).value_or(T{});
    else return find(setting).value_or(static_cast<T>(setting.standard.value()));
  }

  /// As set; nothing where it is not.
  template <class T>
  std::optional<T> find(const Setting<T>& setting) const {
    const auto found = values_.find(setting.name);
    if (found == values_.end()) return std::nullopt;
    if constexpr (is_list_value<T>) return std::get<T>(found->second);
    else return static_cast<T>(std::get<std::int64_t>(found->second));
  }

  template <class T>
  void set(const Setting<T>& setting, std::type_identity_t<T> value) {
    if constexpr (is_list_value<T>) set_value(setting, std::move(value));
    else set_value(setting, static_cast<std::int64_t>(value));
  }

  /// For readers of files, which know keys and no types.
  void set_value(const SettingKey& setting, SettingValue value) { values_[setting.name] = std::move(value); }

  void reset(const SettingKey& setting) { values_.erase(setting.name); }

  /// What is set, by name.
  const std::map<std::string_view, SettingValue>& values() const { return values_; }

  bool operator==(const OwnSettings&) const = default;

 private:
  std::map<std::string_view, SettingValue> values_;
};

}  // namespace hybridkv
