#include "bindings/recording.h"

#include "bindings/args.h"
#include "core/allocator.h"

namespace genesis::py {

static uint64_t last_id = 0;

Recording::Recording(bool shapes, bool stack) : id(++last_id), with_shapes_(shapes), with_stack_(stack), shapes_{0} {}

Recording::~Recording() {
  for (size_t i = 0; i < size_; ++i) {
    Py_XDECREF(event(i).scope);
    Py_XDECREF(reinterpret_cast<PyObject*>(event(i).code));
  }
}

size_t Recording::open(Event::Kind kind, const char* name, PyObject* scope) {
  if (size_ % kChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<Event[]>(kChunk));
  const size_t number = size_++;
  Event& e = event(number);
  Py_XINCREF(scope);
  e = {.name = name,
       .start = 0,
       .end = 0,
       .memory = static_cast<int64_t>(memory_allocated()),
       .allocated = 0,
       .first = 1,
       .last = 0,
       .inputs = 0,
       .outputs = 0,
       .scope = scope,
       .code = nullptr,
       .line = 0,
       .thread = this_thread(),
       .kind = kind,
       .dropped = false};
  e.start = now();
  return number;
}

void Recording::close(size_t number) {
  Event& e = event(number);
  e.end = now();
  e.allocated = static_cast<int64_t>(memory_allocated());
  e.memory = e.allocated - e.memory;
}

void Recording::add_shape(const Tensor& t) {
  shapes_.push_back(static_cast<int64_t>(t.dtype()));
  shapes_.push_back(t.dim());
  shapes_.insert(shapes_.end(), t.shape().begin(), t.shape().end());
}

size_t Recording::shapes(std::span<PyObject* const> objects) {
  const size_t where = shapes_.size();
  shapes_.push_back(0);
  const auto add = [&](PyObject* o) {
    if (!is_tensor(o)) return;
    add_shape(unwrap(o));
    ++shapes_[where];
  };
  for (PyObject* o : objects) {
    if (!o) continue;
    if (PyTuple_Check(o) || PyList_Check(o))  // an operation on a list of tensors
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add(PySequence_Fast_GET_ITEM(o, i));
    else add(o);
  }
  return where;
}

size_t Recording::shapes(const Grads& grads) {
  const size_t where = shapes_.size();
  shapes_.push_back(0);
  for (const Tensor& g : grads) {
    if (!g.defined()) continue;
    add_shape(g);
    ++shapes_[where];
  }
  return where;
}

Object Recording::shapes_at(size_t where) const {
  if (where == 0) return Object(PyTuple_New(0));
  const int64_t* at = shapes_.data() + where;
  const int64_t count = *at++;
  Object all(PyTuple_New(count));
  for (int64_t i = 0; i < count; ++i) {
    PyObject* dtype = dtype_object(static_cast<DType>(*at++));
    const int64_t dims = *at++;
    const Object shape(to_python(Dims(at, at + dims)));
    at += dims;
    PyTuple_SET_ITEM(all.get(), i, Object(PyTuple_Pack(2, dtype, shape.get())).release());
  }
  return all;
}

Object Recording::list() {
  const int64_t stopped = now();
  Object all(PyList_New(0));
  for (size_t i = 0; i < size_; ++i) {
    const Event& e = event(i);
    if (e.dropped) continue;
    const Object inputs = shapes_at(e.inputs), outputs = shapes_at(e.outputs);
    PyObject* file = e.code ? e.code->co_filename : Py_None;
    const Object row(Py_BuildValue("(isLLLLKKOOOOiI)", static_cast<int>(e.kind), e.name, e.start,
                                   e.end ? e.end : stopped, e.end ? e.memory : 0, e.allocated, e.first, e.last,
                                   inputs.get(), outputs.get(), e.scope ? e.scope : Py_None, file, e.line, e.thread));
    if (PyList_Append(all.get(), row.get()) < 0) throw_python();
  }
  return all;
}

}  // namespace genesis::py
