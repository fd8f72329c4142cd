// Kernel calls as a capture records them: a copy of the arguments, and the positions of tensor memory among them.
//
// An argument is a number, an enum, a View, a pointer to tensor memory (const if it is only read), or a struct that
// describes its members: its member function `template <class A> void arguments(A& a)` passes each View, pointer and
// array to `a`. Kernels with arguments of other types cannot be captured.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/capture.h"
#include "core/view.h"

namespace genesis::capture {

// Calls a kernel with the arguments stored at `pack`.
using Thunk = int64_t (*)(void (*fn)(), void* pack);

// The interface through which the arguments of a call describe themselves to the recorder.
class Arguments {
 public:
  // Bit i of `writes` is set if the kernel writes argument i, counting Views only.
  explicit Arguments(unsigned writes) : writes_(writes) {}

  template <class T>
  void visit(T& x) {
    if constexpr (std::is_same_v<T, View>) view(x, next_write());
    else if constexpr (std::is_pointer_v<T>) pointer(&x, !std::is_const_v<std::remove_pointer_t<T>>);
    else if constexpr (requires { x.arguments(*this); }) x.arguments(*this);
    else if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) unknown();
  }
  void read(View& x) { view(x, false); }
  void written(View& x) { view(x, true); }
  // Memory that belongs to no tensor: `n` numbers, which are copied.
  template <class T>
  void array(const T*& x, int64_t n) {
    if (x) x = static_cast<const T*>(constant(x, n * static_cast<int64_t>(sizeof(T))));
  }
  // The position of a draw in the sequence of the random number generator.
  virtual void draw(uint64_t& seed, uint64_t& counter) = 0;

 protected:
  ~Arguments() = default;
  virtual void view(View& x, bool written) = 0;
  virtual void pointer(void* x, bool written) = 0;  // x: the address of the pointer
  virtual void unknown() = 0;
  virtual const void* constant(const void* data, int64_t bytes) = 0;

 private:
  bool next_write() {
    const bool written = writes_ & 1;
    writes_ >>= 1;
    return written;
  }
  unsigned writes_;
};

// Arguments stored one after another in a struct that can be copied bytewise.
template <class... T>
struct Pack {
  template <class F, class... Before>
  auto apply(F&& f, Before&... before) {
    return f(before...);
  }
  void visit(Arguments&) {}
};
template <class Head, class... Tail>
struct Pack<Head, Tail...> {
  Head head;
  Pack<Tail...> tail;
  template <class F, class... Before>
  auto apply(F&& f, Before&... before) {
    return tail.apply(f, before..., head);
  }
  void visit(Arguments& a) {
    a.visit(head);
    tail.visit(a);
  }
};
template <class... T>
void fill(Pack<>&) {}
template <class Head, class... Tail>
void fill(Pack<Head, Tail...>& pack, const Head& head, const Tail&... tail) {
  pack.head = head;
  if constexpr (sizeof...(Tail) > 0) fill(pack.tail, tail...);
}

struct CallInfo {
  const char* name;
  void (*fn)();
  Thunk thunk;
  unsigned writes;
  int64_t bytes;  // of the pack
  int64_t align;
  void (*visit)(void* pack, Arguments& arguments);
};

// The recorder's side. `begin` returns memory for the pack, or null if the call is not recorded. `ready` is called when
// the pack is filled, and `end` after the kernel. If a kernel returns an integer, every replay must return the same
// one.
void* begin(const CallInfo& info);
void ready();
void end(bool returns, bool whole, int64_t value);
void failed() noexcept;

template <class Signature>
struct Captured;
template <class R, class... Args>
struct Captured<R(Args...)> {
  [[gnu::noinline]] static R call(R (*fn)(Args...), const char* name, unsigned writes, Args... args) {
    using Packed = Pack<std::remove_cvref_t<Args>...>;
    const CallInfo info{name,
                        reinterpret_cast<void (*)()>(fn),
                        [](void (*erased)(), void* pack) -> int64_t {
                          const auto kernel = reinterpret_cast<R (*)(Args...)>(erased);
                          return static_cast<Packed*>(pack)->apply([kernel](auto&... a) -> int64_t {
                            if constexpr (std::is_integral_v<R>) return static_cast<int64_t>(kernel(a...));
                            else return kernel(a...), 0;
                          });
                        },
                        writes,
                        sizeof(Packed),
                        alignof(Packed),
                        [](void* pack, Arguments& arguments) { static_cast<Packed*>(pack)->visit(arguments); }};
    void* pack = begin(info);
    if (!pack) return fn(args...);
    fill(*static_cast<Packed*>(pack), args...);
    ready();
    try {
      if constexpr (std::is_void_v<R>) {
        fn(args...);
        end(false, false, 0);
      } else {
        const R result = fn(args...);
        if constexpr (std::is_integral_v<R>) end(true, true, static_cast<int64_t>(result));
        else end(true, false, 0);
        return result;
      }
    } catch (...) {
      failed();
      throw;
    }
  }
};

}  // namespace genesis::capture
