// A tensor: a storage with a shape and strides. It also holds the state of autograd, which is opaque to this layer.
#pragma once

#include <memory>

#include "core/capture.h"
#include "core/counted.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/inline_vec.h"
#include "core/storage.h"
#include "core/view.h"

namespace genesis {

// Base class of the state that autograd stores in a tensor (autograd/meta.h) in addition to grad_fn.
struct TensorExtras {
  virtual ~TensorExtras() = default;
};

class TensorImpl final : public Counted {
 public:
  TensorImpl(Storage* storage, char* data, DType dtype) : storage(storage), data(data), dtype(dtype) {
    storage->retain();
  }
  static TensorImpl* create(Storage* storage, char* data, DType dtype);
  void destroy() noexcept override;
  // Derives numel and contiguity from shape and strides.
  void geometry_changed();
  // Takes the memory and the shape of another tensor, as x.data = y does. A kernel in another thread may be using this
  // tensor: its old memory and shape stay valid until that kernel has finished.
  void take_contents(const TensorImpl& from);

  Storage* storage;
  char* data;  // the first element
  Dims shape, strides;
  int64_t numel = 1;
  DType dtype;
  bool contiguous = true;
  bool requires_grad = false;  // for a leaf: requested; otherwise: has a grad_fn
  bool parameter = false;      // nn.Parameter: may be updated in place though a leaf
  bool inference = false;      // created in inference mode: never enters a graph
  uint32_t output_index = 0;   // index among the outputs of grad_fn
  Ref<Counted> grad_fn;        // a Node
  std::unique_ptr<TensorExtras> extras;

 private:
  ~TensorImpl() override { storage->release(); }
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}
  static Tensor adopt(TensorImpl* impl) {
    Tensor t;
    t.impl_ = Ref<TensorImpl>::adopt(impl);
    return t;
  }

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const { return defined(); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* operator->() const { return impl_.get(); }
  TensorImpl* detach_impl() { return impl_.detach(); }
  bool same(const Tensor& other) const { return impl_ == other.impl_; }

  const Dims& shape() const { return impl_->shape; }
  const Dims& strides() const { return impl_->strides; }
  int dim() const { return impl_->shape.size(); }
  int64_t size(int d) const { return impl_->shape[d < 0 ? d + dim() : d]; }
  int64_t stride(int d) const { return impl_->strides[d < 0 ? d + dim() : d]; }
  int64_t numel() const { return impl_->numel; }
  DType dtype() const { return impl_->dtype; }
  bool contiguous() const { return impl_->contiguous; }
  int64_t offset() const { return (impl_->data - impl_->storage->data) / itemsize(impl_->dtype); }
  bool meta() const { return impl_->storage->meta; }
  // The elements, to be read or written immediately. A capture ends here, as its plan could not repeat the access.
  // Raises on the meta device.
  template <class T>
  T* data() const {
    if (on_meta) [[unlikely]]
      fail_no_data();
    capture::interrupt("an operation reads or writes values outside a kernel");
    return address<T>();
  }
  // The address of the elements, as an argument of a kernel.
  template <class T>
  T* address() const {
    return reinterpret_cast<T*>(impl_->data);
  }
  View view() const { return {impl_->data, impl_->dtype, dim(), impl_->shape.data(), impl_->strides.data()}; }
  // Whether nothing else refers to this tensor or its memory and elements do not overlap, so that it may be written.
  bool exclusive() const {
    return !impl_->foreign() && impl_->count() == 1 && impl_->storage->refs == 1 && impl_->contiguous &&
           !impl_->requires_grad && impl_->storage->owner == nullptr;
  }

 private:
  Ref<TensorImpl> impl_;
};

// The number of elements of `shape`; raises if it exceeds int64_t.
int64_t numel(const Dims& shape, const char* op = nullptr);
Dims contiguous_strides(const Dims& shape);

// New, uninitialized, contiguous memory.
Tensor empty(const Dims& shape, DType dtype);
// New memory in the layout of `like` if that is dense, otherwise contiguous.
Tensor empty_like(const Tensor& like, DType dtype);
inline Tensor empty_like(const Tensor& like) { return empty_like(like, like.dtype()); }
// Another tensor on the same storage, outside any graph. `offset` is in elements of `t`'s dtype from t's first element.
// Checks that it stays within the storage.
Tensor alias(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset = 0);
inline Tensor alias(const Tensor& t) { return alias(t, t.shape(), t.strides()); }

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);
// `dim` counted from the front; raises an IndexError that names `op` if it is out of range. A 0-d tensor accepts -1 and
// 0.
int wrap_dim(const char* op, int64_t dim, int ndim);

}  // namespace genesis
