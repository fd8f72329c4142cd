// In sanitizer builds only: deliberate errors that prove that the sanitizers are active
// (tests/core/test_sanitizers.py).
#if defined(__SANITIZE_ADDRESS__)

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"_canary_address(Tensor input) -> int", [](Args& a) {
    const Tensor& x = a.tensor(0);
    volatile char* end = x->data + x.numel() * itemsize(x.dtype());
    return static_cast<int64_t>(*end);
  }>(kFunction);
  def<"_canary_undefined(int n) -> int", [](Args& a) {
    volatile int big = 0x7fffffff;
    return static_cast<int64_t>(big + static_cast<int>(a.integer(0)));
  }>(kFunction);
});

}  // namespace genesis::py

#elif defined(__SANITIZE_THREAD__)

#include <thread>

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"_canary_thread() -> int", [](Args&) {
    int64_t shared = 0;
    const auto add = [&] {
      for (int i = 0; i < 1000; ++i) *const_cast<volatile int64_t*>(&shared) = shared + 1;
    };
    std::thread one(add), two(add);
    one.join();
    two.join();
    return shared;
  }>(kFunction);
});

}  // namespace genesis::py

#endif
