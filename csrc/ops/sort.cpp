#include "ops/sort.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "autograd/record.h"
#include "kernels/index/gather.h"
#include "kernels/sort/search.h"
#include "kernels/sort/sort.h"
#include "ops/create.h"
#include "ops/gather.h"
#include "ops/indices.h"
#include "ops/view.h"

namespace genesis::ops {

// x as contiguous rows along one dimension, and the inverse for results.
namespace {
struct Rows {
  Tensor x;
  int dim = 0;
  int64_t n = 1, rows = 1;

  Rows(const char* op, const Tensor& input, int64_t d) {
    const WithGradMode off(false);
    dim = wrap_dim(op, d, input.dim());
    x = contiguous(input.dim() > 1 ? transpose(input, dim, -1) : input);
    n = input.dim() ? input.size(dim) : 1;
    rows = n ? input.numel() / n : 0;
    require(n <= kernels::longest_row(x.dtype()), op, ": a row of ", n, " elements of ", x.dtype(),
            " is too long; convert to a 64-bit type");
  }
  // Memory for k results per row.
  Tensor results(int64_t k, DType dtype) const {
    Dims shape = x.shape();
    if (!shape.empty()) shape.back() = k;
    return empty(shape, dtype);
  }
  // Not a view of y, although it may share y's memory: later writes must find its own node in the graph.
  Tensor put_back(const Tensor& y) const {
    return y.dim() > 1 && dim != y.dim() - 1 ? alias(contiguous(transpose(y, dim, -1))) : y;
  }
};
}  // namespace

static Sorted sorted_rows(const Rows& in, bool with_values, bool descending) {
  const WithGradMode off(false);
  Sorted y{with_values ? in.results(in.n, in.x.dtype()) : Tensor(), in.results(in.n, DType::Int64)};
  const Tensor scratch = empty({kernels::sort_scratch(in.x.dtype(), in.n)}, DType::UInt8);
  if (in.rows > 0)
    kernels::sort(with_values ? y.values->data : nullptr, y.indices.address<int64_t>(), in.x->data, in.x.dtype(),
                  in.rows, in.n, descending, scratch->data);
  return y;
}

// Records values picked from x at `indices` along `dim`.
static Tensor record_picked(const char* op, Tensor values, const Tensor& x, int dim, const Tensor& indices) {
  return record(op, std::move(values), inputs(x), save(indices),
                [dim, shape = x.shape()](const Tensor& dy, const Saved& saved) {
                  return Grads{gather_backward(dy, shape, dim, saved[0])};
                });
}

Sorted sort(const Tensor& x, int64_t dim, bool descending) {
  const Rows in("sort", x, dim);
  Sorted y = sorted_rows(in, true, descending);
  y = {in.put_back(y.values), in.put_back(y.indices)};
  y.values = record_picked("sort", y.values, x, in.dim, y.indices);
  return {y.values, untracked(y.indices)};
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  const Rows in("argsort", x, dim);
  return untracked(in.put_back(sorted_rows(in, false, descending).indices));
}

Sorted topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  const Rows in("topk", x, dim);
  require(k >= 0 && k <= in.n, "topk: k is ", k, " but dimension ", in.dim, " of the input of shape ", x.shape(),
          " has size ", in.n);
  Sorted y{in.results(x.dim() ? k : 1, x.dtype()), in.results(x.dim() ? k : 1, DType::Int64)};
  if (x.dim() == 0 && k == 0) y = {empty({0}, x.dtype()), empty({0}, DType::Int64)};
  if (in.rows > 0 && k > 0) {
    if (in.n >= kernels::kLongRow && 16 * k >= in.n) {  // a large part of a long row: sort it
      const WithGradMode off(false);
      const Sorted all = sorted_rows(in, true, largest);
      y = {contiguous(slice(all.values, -1, 0, k, 1)), contiguous(slice(all.indices, -1, 0, k, 1))};
    } else {
      kernels::top(y.values->data, y.indices.address<int64_t>(), in.x->data, x.dtype(), in.rows, in.n, k, largest);
    }
  }
  y = {in.put_back(y.values), in.put_back(y.indices)};
  y.values = record_picked("topk", y.values, x, in.dim, y.indices);
  return {y.values, untracked(y.indices)};
}

Sorted kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  const Rows in("kthvalue", x, dim);
  require(k >= 1 && k <= in.n, "kthvalue: k is ", k, " but must be between 1 and ", in.n, ", the size of dimension ",
          in.dim);
  Dims shape = x.shape();
  if (x.dim() > 0) shape[in.dim] = 1;
  Sorted y{in.results(1, x.dtype()), in.results(1, DType::Int64)};
  if (in.rows > 0)
    kernels::kth(y.values->data, y.indices.address<int64_t>(), in.x->data, x.dtype(), in.rows, in.n, k - 1);
  y = {in.put_back(y.values), in.put_back(y.indices)};
  y.values = record_picked("kthvalue", y.values, x, in.dim, y.indices);
  if (keepdim || x.dim() == 0) return {y.values, untracked(y.indices)};
  return {squeeze(y.values, {in.dim}), untracked(squeeze(y.indices, {in.dim}))};
}

// ---- unique ------------------------------------------------------------------------------------------------------

// From the group of each element in order (groups are numbered by first occurrence), the first element of each group
// and its size.
static Unique groups(const Tensor& group, int64_t count) {
  const int64_t n = group.numel();
  Unique y{empty({count}, DType::Int64), Tensor(), empty({count}, DType::Int64)};
  int64_t *first = y.values.data<int64_t>(), *size = y.counts.data<int64_t>();
  const int64_t* g = group.data<int64_t>();
  std::fill_n(size, count, 0);
  for (int64_t i = n - 1; i >= 0; --i) {
    first[g[i]] = i;
    ++size[g[i]];
  }
  return y;
}

static Unique unique_flat(const Tensor& x, bool sort_first) {
  if (on_meta) fail_no_data();
  const WithGradMode off(false);
  const Tensor flat = reshape(contiguous(x), {x.numel()});
  const int64_t n = flat.numel();
  const Sorted in_order = sort_first ? sorted_rows(Rows("unique", flat, 0), true, false) : Sorted{flat, Tensor()};
  const Tensor group = empty({n}, DType::Int64);
  const int64_t count = kernels::label_runs(group.address<int64_t>(), in_order.values->data, x.dtype(), n);
  Unique y = groups(group, count);
  y.values = index_select(in_order.values, 0, y.values);
  y.inverse = group;
  if (sort_first) {
    y.inverse = empty({n}, DType::Int64);
    kernels::scatter_along(y.inverse.view(), group.view(), in_order.indices.view(), 0, kernels::Combine::Set, false);
  }
  y.inverse = reshape(y.inverse, x.shape());
  return {untracked(y.values), untracked(y.inverse), untracked(y.counts)};
}

static Unique unique_slices(const char* op, const Tensor& x, int64_t dim, bool sort_first) {
  const WithGradMode off(false);
  const int d = wrap_dim(op, dim, x.dim());
  require(x.dim() > 0, op, ": a 0-d tensor has no slices; leave out dim");
  const Tensor slices = contiguous(movedim(x, {d}, {0}));
  const int64_t n = x.size(d), width = n ? x.numel() / n : 0;
  require(n == 0 || width > 0, op, ": the slices of shape ", x.shape(), " along dimension ", d,
          " have no elements to compare");
  const Tensor order = empty({n}, DType::Int64), group = empty({n}, DType::Int64);
  std::iota(order.data<int64_t>(), order.data<int64_t>() + n, 0);
  if (sort_first) kernels::sort_slices(order.address<int64_t>(), slices->data, x.dtype(), n, width);
  const int64_t count =
      kernels::label_slices(group.address<int64_t>(), order.address<int64_t>(), slices->data, x.dtype(), n, width);
  Unique y = groups(group, count);
  y.values = index_select(x, d, index_select(order, 0, y.values));
  y.inverse = empty({n}, DType::Int64);
  kernels::scatter_along(y.inverse.view(), group.view(), order.view(), 0, kernels::Combine::Set, false);
  return {untracked(y.values), untracked(y.inverse), untracked(y.counts)};
}

Unique unique(const Tensor& x, std::optional<int64_t> dim) {
  return dim ? unique_slices("unique", x, *dim, true) : unique_flat(x, true);
}
Unique unique_consecutive(const Tensor& x, std::optional<int64_t> dim) {
  return dim ? unique_slices("unique_consecutive", x, *dim, false) : unique_flat(x, false);
}

}  // namespace genesis::ops
