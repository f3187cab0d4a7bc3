#include "engines/vllm_0_32/start_log.h"

#include "engines/vllm/start.h"

namespace hybridkv {

constinit const EngineLog log_of_vllm_0_32{.texts = &log_texts_of_vllm,
                                           .first = ReleaseNumber{0, 32},
                                           .end = ReleaseNumber{0, 33},
                                           .assumed = "the rules of 0.32"};

}  // namespace hybridkv
