#pragma once

#include <string>

namespace hybridkv {

/// True for "hf://organisation/name", a model on the Hugging Face hub.
bool is_hub_name(const std::string& path);

/// The config.json of such a model in the folder that Hugging Face programs keep what they fetched in: HF_HUB_CACHE,
/// HF_HOME/hub or ~/.cache/huggingface/hub, of the revision that `main` names there. Nothing is fetched.
/// Throws InputError where it is not there, with the command that gets it, and for a name that is none.
/// Source: the layout of huggingface_hub's cache (models--ORG--NAME/refs/main, snapshots/REVISION/config.json).
std::string hub_config(const std::string& path);

}  // namespace hybridkv
