#include "scenarios/hf_class_rules.h"

#include <map>

namespace hybridkv {

const HfClassRules& hf_class_rules(const std::string& model_type) {
  static const HfClassRules any;
  static const std::map<std::string, HfClassRules> own = {
      {"zamba", {.attention_width = 2}},
      {"zamba2", {.attention_width = 2}},
      {"longcat_flash", {.attentions_a_layer = 2}},
      {"longcat_flash_ngram", {.attentions_a_layer = 2}},
      {"mimo_v2_flash", {.window_kv_factor = 2}},
      {"nemotron_h", {.ssm_dtype = DType::fp32}},
      {"rwkv", {.every_layer_recurrent = true}},
      {"rwkv5", {.every_layer_recurrent = true}},
      {"rwkv6", {.every_layer_recurrent = true}},
      {"rwkv7", {.every_layer_recurrent = true}},
      {"xlstm", {.every_layer_recurrent = true}},
  };
  const auto found = own.find(model_type);
  return found == own.end() ? any : found->second;
}

}  // namespace hybridkv
