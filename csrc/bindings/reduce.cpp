#include "ops/reduce.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"sum(input, dim=None, keepdim=False, *, dtype=None)", [](Args& a) {
    return ops::sum(a.tensor(0), a.optional_dims(1), a.boolean(2, false), a.optional_dtype(3));
  }>(kBoth, "The sum of the elements, of all or along `dim`.");
});

}  // namespace genesis::py
