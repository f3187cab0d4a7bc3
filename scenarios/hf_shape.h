#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "scenarios/hf_fields.h"
#include "scenarios/hf_traits.h"

namespace hybridkv {

/// The sizes of a model, or of one of its layers, as the config says them: what parameters are counted from. Unlike
/// the fields that caches follow from, one that is absent or of another type is none, so that a model whose parameters
/// cannot be counted is imported all the same.
class HfShape {
 public:
  /// Names of one field, the first that is there counts.
  using Names = std::initializer_list<const char*>;

  /// `model_type`: of the language model. Pre: the fields outlive this.
  HfShape(const HfFields& fields, std::string model_type);

  /// The shape of one of `layers` layers: lists with a value for each give its own; before all comes what the config
  /// says of this layer alone, or its class of layers with a window and of those without.
  HfShape of_layer(std::int64_t layer, std::int64_t layers, bool is_windowed) const;

  /// A whole number; `otherwise` where there is none.
  Checked number(Names names, std::int64_t otherwise = 0) const;
  /// From 0 to 10^9.
  double real(const char* name, double otherwise) const;
  bool flag(Names names, bool otherwise = false) const;
  /// The text of the layer in a list with one for each, which may be a default of the class, else that of the field;
  /// empty where there is none.
  std::string word(const char* name) const;
  /// Does the config itself say this? Defaults of a class hold only where it says nothing that tells otherwise.
  bool is_written(Names names) const;
  /// A list of any length; null where there is none.
  const YamlNode* list(const char* name) const;
  /// A mapping inside, such as linear_attn_config.
  const YamlNode* mapping(const char* name) const;

  bool has(HfTrait trait) const { return has_trait(model_type_, trait); }
  const std::string& model_type() const { return model_type_; }
  /// Of this shape; below 0 for that of the whole model.
  std::int64_t layer() const { return layer_; }
  Checked hidden() const { return number({"hidden_size", "n_embd", "d_model", "dim", "embed_dim"}); }

 private:
  struct Cache {
    std::map<std::string, const YamlNode*, std::less<>> nodes;
    std::map<std::string, std::vector<YamlNode>, std::less<>> default_lists;  ///< of all layers
  };
  const YamlNode* node(const char* name) const;
  const YamlNode* scalar(const char* name) const;

  const HfFields* fields_;
  std::string model_type_;
  std::shared_ptr<Cache> cache_ = std::make_shared<Cache>();
  std::int64_t layer_ = -1;
  std::int64_t layers_ = 0;
  const YamlNode* own_ = nullptr;  ///< of this layer alone
};

/// The number under this name of a kind of the model file, which the import has worked out of several fields;
/// `otherwise` where it has none. `kind` may be null.
Checked hf_kind_number(const YamlNode* kind, const char* name, Checked otherwise);

/// The whole number that a scalar holds, from 0 to 10^9; nothing for anything else.
std::optional<std::int64_t> hf_count(const YamlNode& node);

}  // namespace hybridkv
