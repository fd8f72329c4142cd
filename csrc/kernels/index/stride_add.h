#pragma once

#include "core/view.h"

namespace genesis::kernels {

// dst += src, one element after another, because elements of dst may overlap (the gradient of as_strided and unfold).
void stride_add(View dst, View src);

}  // namespace genesis::kernels
