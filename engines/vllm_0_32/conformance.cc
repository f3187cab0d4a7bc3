#include "engines/vllm_0_32/conformance.h"

#include "engines/vllm/conformance.h"

namespace hybridkv {

const Conformance conformance_of_vllm_0_32{.driver = "vllm/conform/driver.py",
                                           .version = "0.32.0",
                                           .grid = conform_settings_of_vllm,
                                           .tells_chunks_and_encoders = true,
                                           .random = random_conform_setting_of_vllm};

}  // namespace hybridkv
