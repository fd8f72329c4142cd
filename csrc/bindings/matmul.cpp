#include "ops/matmul.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"matmul(input, other)", [](Args& a) { return ops::matmul(a.tensor(0), a.tensor(1)); }>();
});

}  // namespace genesis::py
