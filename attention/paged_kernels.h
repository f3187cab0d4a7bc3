#pragma once

#include "attention/paged_kernel.h"

namespace hybridkv {

// One per instruction set. Call them through `paged_kernel`, which knows which may run here.
const PagedKernel& paged_kernel_plain();
#if defined(__x86_64__)
const PagedKernel& paged_kernel_avx2();
const PagedKernel& paged_kernel_avx512();
const PagedKernel& paged_kernel_avx512bf16();
const PagedKernel& paged_kernel_amx();
#endif

}  // namespace hybridkv
