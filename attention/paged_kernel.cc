#include "attention/paged_kernel.h"

#include "attention/paged_kernels.h"
#include "base/error.h"

namespace hybridkv {

const PagedKernel& paged_kernel(SimdPath path) {
  expects(is_available(path), "this processor has the instructions");
#if defined(__x86_64__)
  if (path == SimdPath::avx512bf16) return paged_kernel_avx512bf16();
  if (path == SimdPath::avx512) return paged_kernel_avx512();
  if (path == SimdPath::avx2) return paged_kernel_avx2();
#endif
  return paged_kernel_plain();
}

}  // namespace hybridkv
