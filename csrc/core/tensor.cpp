#include "core/tensor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/parallel.h"
#include "core/pool.h"

namespace genesis {

TensorImpl* TensorImpl::create(Storage* storage, char* data, DType dtype) {
  void* place;
  try {
    place = Pool<sizeof(TensorImpl)>::take();
  } catch (...) {
    if (storage->refs == 0) storage->free(storage);  // it was created for this tensor
    throw;
  }
  auto* impl = new (place) TensorImpl(storage, data, dtype);
  impl->retain();
  return impl;
}

void TensorImpl::destroy() noexcept {
  extras.reset();  // first, because its members may be in a list of the storage
  this->~TensorImpl();
  Pool<sizeof(TensorImpl)>::give(this);
}

// Products that are too large wrap around: numel() rejects such a shape unless it is empty, and then strides are never
// used.
static int64_t wrapping_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void TensorImpl::geometry_changed() {
  numel = genesis::numel(shape);
  contiguous = true;
  if (numel == 0) return;
  int64_t step = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != step) contiguous = false;
    step *= shape[d];
  }
}

void TensorImpl::take_contents(const TensorImpl& from) {
  if (shape != from.shape || strides != from.strides) {
    await_kernels();
    shape = from.shape;
    strides = from.strides;
  }
  from.storage->retain();
  Storage* old = std::exchange(storage, from.storage);
  data = from.data;
  dtype = from.dtype;
  geometry_changed();
  after_kernels([](void* s) { static_cast<Storage*>(s)->release(); }, old);
}

void fail_no_data() {
  fail<NoDataError>(
      "the result depends on the values of a tensor on the meta device, which has shapes but no values; "
      "use a tensor on the CPU, or Module.to_empty() to give a module memory");
}

// The number of elements of a shape whose sizes overflow when they are multiplied.
[[gnu::cold]] static int64_t none_of(const Dims& shape, const char* op) {
  for (int64_t s : shape)
    if (s == 0) return 0;
  fail(op ? op : "", op ? ": " : "", "shape ", shape,
       " has more elements than can be counted (2**63 - 1); use smaller sizes");
}

int64_t numel(const Dims& shape, const char* op) {
  int64_t n = 1;
  bool overflow = false;
  for (int64_t s : shape) overflow |= __builtin_mul_overflow(n, s, &n);
  if (overflow) [[unlikely]]
    return none_of(shape, op);
  return n;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  int64_t* const at = strides.data();
  int64_t step = 1;
  for (int d = shape.size() - 1; d >= 0; --d) {
    const int64_t size = std::max<int64_t>(at[d], 1);
    at[d] = step;
    step = wrapping_product(step, size);
  }
  return strides;
}

static Tensor make(const Dims& shape, const Dims& strides, DType dtype, bool contiguous) {
  require(shape.size() <= kMaxDims, "empty: at most ", kMaxDims, " dimensions, got ", shape.size());
  for (int64_t s : shape) require(s >= 0, "empty: negative size in shape ", shape);
  const int64_t n = numel(shape);
  int64_t bytes;
  require(!__builtin_mul_overflow(n, itemsize(dtype), &bytes), "empty: shape ", shape, " is too large");
  const auto size = static_cast<size_t>(bytes);
  Storage* storage = on_meta ? Storage::without_memory(size) : Storage::allocate(size);
  Tensor out = Tensor::adopt(TensorImpl::create(storage, storage->data, dtype));
  out->shape = shape;
  out->strides = strides;
  out->numel = n;
  out->contiguous = contiguous;
  return out;
}

Tensor empty(const Dims& shape, DType dtype) { return make(shape, contiguous_strides(shape), dtype, true); }

Tensor empty_like(const Tensor& like, DType dtype) {
  if (like.contiguous()) return empty(like.shape(), dtype);
  // Dense: sorted by stride, each dimension begins where the smaller ones end.
  InlineVec<int, 6> order(like.dim());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(like.stride(a), a) < std::pair(like.stride(b), b); });
  int64_t step = 1;
  for (int d : order) {
    if (like.size(d) == 1) continue;
    if (like.stride(d) != step) return empty(like.shape(), dtype);
    step *= like.size(d);
  }
  return make(like.shape(), like.strides(), dtype, false);
}

Tensor alias(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset) {
  const int64_t item = itemsize(t.dtype());
  require(shape.size() <= kMaxDims, "view: at most ", kMaxDims, " dimensions, got ", shape.size());
  TensorImpl* impl = TensorImpl::create(t->storage, t->data, t.dtype());
  Tensor out = Tensor::adopt(impl);
  impl->shape = shape;
  impl->strides = strides;
  impl->geometry_changed();
  impl->inference = t->inference;
  if (impl->numel == 0) {  // no elements, but still an offset, which as_strided() uses
    int64_t first;
    const bool inside = !__builtin_add_overflow(t.offset(), offset, &first) && first >= 0 &&
                        first <= static_cast<int64_t>(t->storage->nbytes) / item;
    impl->data = t->storage->data + (inside ? first * item : 0);
    return out;
  }
  int64_t last = 0;
  bool overflow = false;
  for (int d = 0; d < shape.size(); ++d) {
    int64_t extent;
    overflow |= strides[d] < 0 || __builtin_mul_overflow(shape[d] - 1, strides[d], &extent) ||
                __builtin_add_overflow(last, extent, &last);
  }
  int64_t first;
  overflow |= __builtin_add_overflow(t.offset(), offset, &first);
  require(!overflow && first >= 0 && last < static_cast<int64_t>(t->storage->nbytes) / item - first, "view: shape ",
          shape, " with strides ", strides, " and offset ", first, " reaches outside a storage of ",
          t->storage->nbytes / static_cast<size_t>(item), " elements");
  impl->data += offset * item;
  return out;
}

[[noreturn, gnu::cold]] static void fail_broadcast(const char* op, const Dims& a, const Dims& b, int dim, int64_t x,
                                                   int64_t y) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  bool from_left = longer.size() > shorter.size();  // would they fit if dimensions were matched from the left?
  for (int d = 0; d < shorter.size(); ++d)
    from_left = from_left && (longer[d] == shorter[d] || longer[d] == 1 || shorter[d] == 1);
  std::string way = "; reshape one of them";
  if (from_left) {
    Dims wide = shorter;
    while (wide.size() < longer.size()) wide.push_back(1);
    way = str("; dimensions are matched from the right: use ",
              wide.size() == shorter.size() + 1 ? "unsqueeze(-1)" : str("reshape", wide), " to make ", shorter, " ",
              wide);
  }
  fail(op, ": shapes ", a, " and ", b, " do not broadcast: dimension ", dim, " is ", x, " and ", y,
       "; sizes must be equal or 1", way);
}

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const int lead = longer.size() - shorter.size();
  for (int d = 0; d < shorter.size(); ++d) {
    int64_t& x = out[lead + d];
    const int64_t y = shorter[d];
    if (x == y || y == 1) continue;
    if (x != 1) [[unlikely]]
      fail_broadcast(op, a, b, d - shorter.size(), x, y);
    x = y;
  }
  return out;
}

int wrap_dim(const char* op, int64_t dim, int ndim) {
  const int n = std::max(ndim, 1);
  require<IndexError>(dim >= -n && dim < n, op, ": dim ", dim, " is out of range for a tensor of ", ndim, " dimension",
                      ndim == 1 ? "" : "s", "; valid: ", -n, "..", n - 1);
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

}  // namespace genesis
