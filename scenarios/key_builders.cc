#include "scenarios/key_builders.h"

#include "base/dtype.h"

namespace hybridkv {

KeyInfo key(std::string name, std::string doc) {
  KeyInfo info;
  info.name = std::move(name);
  info.doc = std::move(doc);
  return info;
}

KeyInfo required(KeyInfo info) {
  info.required = true;
  return info;
}

KeyInfo count(std::string name, std::string doc, std::int64_t minimum) {
  KeyInfo info = key(std::move(name), std::move(doc));
  info.minimum = minimum;
  info.maximum = 1'000'000;
  return info;
}

KeyInfo amount(std::string name, std::string doc, std::int64_t minimum) {
  KeyInfo info = key(std::move(name), std::move(doc));
  info.minimum = minimum;
  return info;
}

KeyInfo tokens(std::string name, std::string doc, std::int64_t minimum) {
  KeyInfo info = amount(std::move(name), std::move(doc), minimum);
  info.form = NumberForm::tokens;
  return info;
}

KeyInfo dtype(std::string name, std::string doc) {
  KeyInfo info = key(std::move(name), std::move(doc));
  for (const DType value : all_dtypes) info.choices.emplace_back(to_string(value));
  info.synonyms = {{"fp8", "fp8_e4m3"}, {"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}};
  return info;
}

KeyInfo with_choices(KeyInfo info, std::vector<std::string> choices) {
  info.choices = std::move(choices);
  return info;
}

KeyInfo sets(KeyInfo info, std::vector<std::string> spec_names) {
  info.spec_names = std::move(spec_names);
  return info;
}

}  // namespace hybridkv
