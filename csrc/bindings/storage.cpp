// The memory behind tensors, for genesis.storage.
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// A tensor over an entire storage, whose size must be a multiple of the element size.
static Tensor on_storage(Storage* storage, DType dtype) {
  const auto item = static_cast<size_t>(itemsize(dtype));
  require(storage->nbytes % item == 0, "storage: ", storage->nbytes, " bytes are not a multiple of the size of ", dtype,
          " elements");
  TensorImpl* impl = TensorImpl::create(storage, storage->data, dtype);
  impl->shape = {static_cast<int64_t>(storage->nbytes / item)};
  impl->strides = {1};
  impl->geometry_changed();
  return Tensor::adopt(impl);
}

static const Family family([] {
  def<"_whole_storage(Tensor input, DType dtype) -> Tensor", [](Args& a) {
    return on_storage(a.tensor(0)->storage, a.dtype(1));
  }>(kFunction | kTool, "The entire storage of a tensor, as a flat tensor of a dtype.");
  def<"_storage_ptr(Tensor input) -> int", [](Args& a) {
    const Storage* storage = a.tensor(0)->storage;
    return storage->meta ? int64_t{0} : static_cast<int64_t>(reinterpret_cast<intptr_t>(storage->data));
  }>(kFunction | kTool, "The address of the memory that a tensor is a part of.");
});

}  // namespace genesis::py
