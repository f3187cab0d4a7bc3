#include "attention/paged_kernel.h"

#include "attention/paged_kernels.h"
#include "base/error.h"

namespace hybridkv {

const PagedKernel& paged_kernel(SimdPath path) {
  expects(is_available(path), "this processor has the instructions");
#if defined(__x86_64__)
  if (path == SimdPath::amx) return paged_kernel_amx();
  if (path == SimdPath::avx512bf16) return paged_kernel_avx512bf16();
  if (path == SimdPath::avx512) return paged_kernel_avx512();
  if (path == SimdPath::avx2) return paged_kernel_avx2();
#endif
  return paged_kernel_plain();
}

ProductForm key_form(const PagedKernel& kernel, DType key, DType value) {
  if (!kernel.has_pairs || key != DType::bf16) return ProductForm::floats;
  return kernel.has_tiles && value == DType::bf16 ? ProductForm::tiles : ProductForm::pairs;
}

}  // namespace hybridkv
