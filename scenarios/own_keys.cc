#include "scenarios/own_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "scenarios/engine_words.h"
#include "scenarios/key_builders.h"

namespace hybridkv {

namespace {

std::string_view own_meaning(const EngineRules& rules, const SettingKey& setting) {
  for (const OwnKey& own : rules.own_keys)
    if (own.key->name == setting.name) return own.meaning;
  return {};
}

std::string standard_text(const SettingKey& setting) {
  if (!setting.standard) return "";  // the meaning says where the value comes from
  const std::int64_t value = *setting.standard;
  if (setting.type == SettingType::flag) return fmt::format("; default {}", value != 0);
  if (setting.type == SettingType::choice)
    return fmt::format("; default {}", setting.choices[static_cast<std::size_t>(value)]);
  return fmt::format("; default {}", value);
}

KeyInfo info_of(const SettingKey& setting) {
  const std::string name(setting.name);
  const std::string doc =
      words_by_engine([&](const EngineRules& rules) { return own_meaning(rules, setting); }) + standard_text(setting);
  switch (setting.type) {
    case SettingType::count: return count(name, doc, setting.least);
    case SettingType::amount: return amount(name, doc, setting.least);
    case SettingType::tokens:
    case SettingType::lengths: return tokens(name, doc, setting.least);
    case SettingType::choice: return with_choices(key(name, doc), {setting.choices.begin(), setting.choices.end()});
    case SettingType::bytes:
    case SettingType::flag:
    case SettingType::shares: break;
  }
  return key(name, doc);
}

void add_own_key(Section<EngineSpec>& keys, const SettingKey& setting) {
  const auto set = [&setting](EngineSpec& spec, auto value) {
    if constexpr (std::is_arithmetic_v<decltype(value)>) spec.own.set_value(setting, std::int64_t(value));
    else spec.own.set_value(setting, std::move(value));
  };
  switch (setting.type) {
    case SettingType::flag: keys.flag_by(info_of(setting), set); return;
    case SettingType::choice:
      keys.choice_by(info_of(setting), [set, words = setting.choices](EngineSpec& spec, const std::string& word) {
        set(spec, std::find(words.begin(), words.end(), word) - words.begin());
      });
      return;
    case SettingType::lengths: keys.integers_by(info_of(setting), set); return;
    case SettingType::shares: keys.numbers_by(info_of(setting), set); return;
    case SettingType::bytes: keys.size_by(info_of(setting), set); return;
    default: keys.integer_by(info_of(setting), set);
  }
}

}  // namespace

void add_own_keys(Section<EngineSpec>& keys) {
  for (const EngineRules* const rules : all_engine_rules())
    for (const OwnKey& own : rules->own_keys)
      if (!keys.info().find(own.key->name)) add_own_key(keys, *own.key);
}

}  // namespace hybridkv
