// In-place forms. x.op_() computes op(x) into the memory of x, and x takes over the node of the result.
//
// Outside the graph, the operator writes directly to x. Inside the graph, it runs out of place on a substitute that has
// x's history, the result is copied to x, and x takes over the node of the result. If the operator saved its input, the
// substitute gets a copy of the old values, because x's are about to change. If x is a view, its base gets a new
// history too: the old base with this part replaced. Other views of that base are updated when they are used next.
#pragma once

#include <initializer_list>

#include "autograd/meta.h"
#include "core/parallel.h"

namespace genesis::ops {

// The destination of an operator's result: new memory, or an existing tensor.
struct Out {
  const Tensor* tensor = nullptr;
  explicit operator bool() const { return tensor != nullptr; }
};

// The tensor that an operator computes into: `out` if it is given and has that dtype, otherwise new memory of `shape`.
// deliver() then copies the result to `out` if necessary.
Tensor destination(const char* op, const Dims& shape, DType dtype, Out out);
Tensor deliver(const char* op, Tensor result, Out out);

// Which tensors with overlapping elements an operator may write, as in PyTorch.
enum class Overlap : uint8_t {
  None,      // none: the result would depend on the order of writes
  Unfolded,  // those with overlapping windows: the operator is idempotent
  Expanded,  // expanded ones too: all elements are set to one number
  Filled     // also inside a graph: no old values remain
};
// Raises unless x may be written: it is not read-only, and elements overlap only as `allowed` permits.
void require_writable(const char* op, const Tensor& x, Overlap allowed = Overlap::None);

// Whether x.op_() must go through the graph. Raises if x must not be changed.
bool begin_inplace(const char* op, const Tensor& x, std::initializer_list<const Tensor*> others,
                   Overlap allowed = Overlap::None);
// Whether elements of x overlap.
bool shows_twice(const Tensor& x);
// Writes the values of `result` to x, outside any graph.
void write_result(const char* op, const Tensor& x, const Tensor& result);
Tensor finish_inplace(const char* op, const Tensor& x, Tensor stand_in, Tensor result);
// Gives x, whose memory already contains the values of `result`, the position of `result` in the graph.
Tensor take_history(const Tensor& x, const Tensor& result);

// `f(input, out)` is the out-of-place operator; `others` are its other tensor arguments.
template <class F>
Tensor inplace(const char* op, const Tensor& x, std::initializer_list<const Tensor*> others, F&& f,
               Overlap allowed = Overlap::None) {
  if (begin_inplace(op, x, others, allowed)) {
    Tensor input = stand_in(x);
    Tensor result = f(static_cast<const Tensor&>(input), Out{});
    return finish_inplace(op, x, std::move(input), std::move(result));
  }
  const WithGradMode off(false);
  const Completes completes;
  if (allowed != Overlap::None && shows_twice(x)) write_result(op, x, f(x, Out{}));
  else f(x, Out{&x});
  x->storage->written(op);
  return x;
}

// The same for an operator whose rule does not need x's old values (copy_, fill_, index_put_): write() changes x's
// memory, also inside the graph, and recorded(input, y) records y, an alias of x after that, as a result of `input`.
template <class Write, class Recorded>
Tensor overwrite(const char* op, const Tensor& x, std::initializer_list<const Tensor*> others, Write&& write,
                 Recorded&& recorded, Overlap allowed = Overlap::None) {
  const bool in_graph = begin_inplace(op, x, others, allowed);
  const Completes completes;
  const Tensor input = in_graph ? stand_in(x) : Tensor();
  write();
  x->storage->written(op);
  return in_graph ? take_history(x, recorded(input, alias(x))) : x;
}

// The input that an operator records if it replaces every element of x: `input`, whose gradient is then zero. If x is a
// view, none: its base gets zeros for that part (replace_in_base), and zeros of the base's size for each row would make
// a loop that fills a tensor row by row quadratic.
inline const Tensor& replaced(const Tensor& x, const Tensor& input) {
  static const Tensor nothing{};
  return base_of(x).same(x) ? input : nothing;
}

}  // namespace genesis::ops
