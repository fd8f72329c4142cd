#include "ops/view.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"reshape(input, *shape)", [](Args& a) { return ops::reshape(a.tensor(0), a.dims(1)); }>();
  def<"view(input, *shape)", [](Args& a) { return ops::view(a.tensor(0), a.dims(1)); }>(kMethod);
  def<"expand(input, *sizes)", [](Args& a) { return ops::expand(a.tensor(0), a.dims(1)); }>(kMethod);
  def<"transpose(input, dim0, dim1)", [](Args& a) { return ops::transpose(a.tensor(0), a.integer(1), a.integer(2)); }>();
  def<"as_strided(input, size, stride, storage_offset=None)", [](Args& a) {
    const Tensor& x = a.tensor(0);
    return ops::as_strided(x, a.dims(1), a.dims(2), a.has(3) ? a.integer(3) - x.offset() : 0);
  }>();
});

}  // namespace genesis::py
