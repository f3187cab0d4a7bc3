#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/model_spec.h"
#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// A model as its file writes it, before the pattern of its layers is expanded.
struct ModelText {
  std::string name;
  std::vector<std::string> aliases;        ///< further models with the same shapes
  std::string source;
  bool layer_order_verified = true;
  DType dtype = DType::bf16;
  std::optional<DType> ssm_dtype;
  std::map<std::string, LayerSpec> kinds;  ///< by name, one character each
  std::string layers;                      ///< pattern over the kinds
  std::string mtp;                         ///< kind of an MTP layer; empty: the first full attention
};

/// A reference to a model file.
struct ModelReference {
  std::string file;
};

/// One kind of layer: its keys and how they make a layer.
struct KindSection {
  std::string type;  ///< value of the key "type": "full_attention", "gdn", …
  const SectionInfo* info;
  std::function<LayerSpec(ReadContext&, const std::string& path, const YamlNode&)> read;
};

/// The keys of a whole scenario, of a model and of a reference to a model file, and the kinds of layer.
const Section<Scenario>& scenario_keys();
const Section<ModelText>& model_keys();
const Section<ModelReference>& model_reference_keys();
const std::vector<KindSection>& kind_sections();

}  // namespace hybridkv
