#include "ops/shape.h"

#include <algorithm>

#include "core/checked.h"
#include "core/promote.h"
#include "kernels/elementwise/convert.h"
#include "kernels/index/index.h"
#include "ops/create.h"
#include "ops/index.h"
#include "ops/reduce.h"

namespace genesis::ops {

// ---- joining ------------------------------------------------------------------------------------------------------

// Elements [at, at + n) of dimension d, as memory to write to or read from.
static Tensor part_of(const Tensor& y, int d, int64_t at, int64_t n) {
  Dims shape = y.shape();
  shape[d] = n;
  return alias(y, shape, y.strides(), n > 0 ? at * y.stride(d) : 0);
}

static DType joined_type(std::span<const Tensor> xs) {
  DType dtype = xs[0].dtype();
  for (const Tensor& x : xs) dtype = promote(dtype, x.dtype());
  return dtype;
}

Tensor cat(std::span<const Tensor> xs, int64_t dim) {
  require(!xs.empty(), "cat: expected at least one tensor");
  // An empty vector is always accepted: users start a loop of cat with an empty tensor.
  const auto skipped = [](const Tensor& x) { return x.dim() == 1 && x.size(0) == 0; };
  const Tensor* first = nullptr;
  for (size_t i = 0; i < xs.size(); ++i) {
    require(xs[i].dim() > 0, "cat: tensor ", i, " is 0-d; use stack(), or unsqueeze(0) it first");
    if (!first && !skipped(xs[i])) first = &xs[i];
  }
  if (!first) first = &xs[0];
  const int d = wrap_dim("cat", dim, first->dim());
  Dims shape = first->shape(), sizes;  // -1 for skipped tensors
  shape[d] = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor& x = xs[i];
    const bool skip = skipped(x) && first->dim() != 1;
    bool fits = skip || x.dim() == shape.size();
    for (int k = 0; k < x.dim() && fits && !skip; ++k) fits = k == d || x.size(k) == shape[k];
    require(fits, "cat: tensor ", i, " of shape ", x.shape(), " does not fit the first, of shape ", first->shape(),
            "; sizes may differ in dimension ", d, " only",
            x.dim() == first->dim() ? "; choose another dim, or cut or pad it"
                                    : "; unsqueeze() the one with fewer dimensions");
    sizes.push_back(skip ? -1 : x.size(d));
    if (!skip)
      require(!__builtin_add_overflow(shape[d], x.size(d), &shape[d]), "cat: the sizes of dimension ", d,
              " add up to more than can be counted");
  }
  Tensor y = empty(shape, joined_type(xs));
  int64_t at = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const int64_t n = std::max<int64_t>(sizes[static_cast<int>(i)], 0);
    if (n > 0) kernels::copy(part_of(y, d, at, n).view(), xs[i].view());
    at += n;
  }
  return record_list("cat", y, xs, {}, [sizes, d](const Tensor& dy, const Saved& saved) {
    Grads grads;
    int64_t at = 0;
    for (int i = 0; i < sizes.size(); ++i) {
      const int64_t n = std::max<int64_t>(sizes[i], 0);
      if (!saved.needs(i)) grads.push_back(Tensor());
      else grads.push_back(sizes[i] < 0 ? zeros({0}, dy.dtype()) : slice(dy, d, at, at + n, 1));
      at += n;
    }
    return grads;
  });
}

Tensor stack(std::span<const Tensor> xs, int64_t dim) {
  require(!xs.empty(), "stack: expected at least one tensor");
  const Tensor& first = xs[0];
  const int d = wrap_dim("stack", dim, first.dim() + 1);
  for (size_t i = 1; i < xs.size(); ++i)
    require(xs[i].shape() == first.shape(), "stack: tensor ", i, " has shape ", xs[i].shape(), ", the first ",
            first.shape(), "; all must be equal: use cat(), or pad them first");
  Dims shape = first.shape();
  shape.insert(d, static_cast<int64_t>(xs.size()));
  Tensor y = empty(shape, joined_type(xs));
  Dims strides = y.strides();
  const int64_t step = strides[d];
  strides.erase(d);
  if (y.numel() > 0)
    for (size_t i = 0; i < xs.size(); ++i)
      kernels::copy(alias(y, first.shape(), strides, static_cast<int64_t>(i) * step).view(), xs[i].view());
  return record_list("stack", y, xs, {}, [d](const Tensor& dy, const Saved& saved) {
    Grads grads;
    for (int i = 0; i < saved.num_inputs(); ++i) grads.push_back(saved.needs(i) ? select(dy, d, i) : Tensor());
    return grads;
  });
}

Tensor atleast_nd(const Tensor& x, int n) {
  if (x.dim() >= n) return x;
  Dims shape = x.shape();
  if (shape.empty()) shape = {1};
  if (n >= 2 && shape.size() == 1) shape.insert(0, 1);
  if (n >= 3 && shape.size() == 2) shape.push_back(1);
  return reshape(x, shape);
}

static std::vector<Tensor> all_atleast(std::span<const Tensor> xs, int n) {
  std::vector<Tensor> out;
  for (const Tensor& x : xs) out.push_back(atleast_nd(x, n));
  return out;
}

Tensor hstack(std::span<const Tensor> xs) {
  require(!xs.empty(), "hstack: expected at least one tensor");
  const auto parts = all_atleast(xs, 1);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(std::span<const Tensor> xs) {
  require(!xs.empty(), "vstack: expected at least one tensor");
  return cat(all_atleast(xs, 2), 0);
}
Tensor dstack(std::span<const Tensor> xs) {
  require(!xs.empty(), "dstack: expected at least one tensor");
  return cat(all_atleast(xs, 3), 2);
}
Tensor column_stack(std::span<const Tensor> xs) {
  require(!xs.empty(), "column_stack: expected at least one tensor");
  std::vector<Tensor> columns;
  for (const Tensor& x : xs) columns.push_back(x.dim() <= 1 ? reshape(x, {x.numel(), 1}) : x);
  return cat(columns, 1);
}

Tensor block_diag(std::span<const Tensor> xs) {
  require(!xs.empty(), "block_diag: expected at least one tensor");
  std::vector<Tensor> blocks;
  Dims rows, cols;
  Dims shape{0, 0};
  for (size_t i = 0; i < xs.size(); ++i) {
    require(xs[i].dim() <= 2, "block_diag: tensor ", i, " of shape ", xs[i].shape(), " has more than 2 dimensions");
    blocks.push_back(atleast_nd(xs[i], 2));
    rows.push_back(blocks[i].size(0));
    cols.push_back(blocks[i].size(1));
    shape[0] += rows.back();
    shape[1] += cols.back();
  }
  Tensor y = zeros(shape, joined_type(xs));
  int64_t row = 0, col = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor& block = blocks[i];
    if (block.numel() > 0)
      kernels::copy(part_of(part_of(y, 0, row, block.size(0)), 1, col, block.size(1)).view(), block.view());
    row += block.size(0);
    col += block.size(1);
  }
  return record_list("block_diag", y, blocks, {}, [rows, cols](const Tensor& dy, const Saved& saved) {
    Grads grads;
    int64_t row = 0, col = 0;
    for (int i = 0; i < rows.size(); ++i) {
      grads.push_back(saved.needs(i) ? slice(slice(dy, 0, row, row + rows[i], 1), 1, col, col + cols[i], 1) : Tensor());
      row += rows[i];
      col += cols[i];
    }
    return grads;
  });
}

std::vector<Tensor> broadcast_tensors(std::span<const Tensor> xs) {
  Dims shape;
  for (const Tensor& x : xs) shape = broadcast_shapes("broadcast_tensors", shape, x.shape());
  std::vector<Tensor> ys;
  for (const Tensor& x : xs) ys.push_back(x.shape() == shape ? x : expand(x, shape));
  return ys;
}

std::vector<Tensor> meshgrid(std::span<const Tensor> xs, bool xy) {
  require(!xs.empty(), "meshgrid: expected at least one tensor");
  const int n = static_cast<int>(xs.size());
  Dims shape;
  for (int i = 0; i < n; ++i) {
    const Tensor& x = xs[static_cast<size_t>(i)];
    require(x.dim() <= 1, "meshgrid: tensor ", i, " of shape ", x.shape(), " must be a vector or a number");
    require<DTypeError>(x.dtype() == xs[0].dtype(), "meshgrid: tensor ", i, " is ", x.dtype(), ", the first ",
                        xs[0].dtype(), "; all must have one dtype");
    shape.push_back(x.numel());
  }
  std::vector<Tensor> ys;
  for (int i = 0; i < n; ++i) {
    Dims own(n, 1);
    own[i] = shape[i];
    Tensor y = expand(reshape(xs[static_cast<size_t>(i)], own), shape);
    ys.push_back(xy && n >= 2 ? transpose(y, 0, 1) : y);
  }
  return ys;
}

Tensor cartesian_prod(std::span<const Tensor> xs) {
  require(!xs.empty(), "cartesian_prod: expected at least one tensor");
  for (size_t i = 0; i < xs.size(); ++i)
    require(xs[i].dim() == 1, "cartesian_prod: tensor ", i, " of shape ", xs[i].shape(), " must be a vector");
  if (xs.size() == 1) return xs[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(xs, false)) columns.push_back(flatten(grid));
  return stack(columns, 1);
}

// ---- splitting ------------------------------------------------------------------------------------------------------

// Each part is a tensor, which takes more memory than its entry in a list.
static void require_parts(const char* op, int64_t parts) {
  constexpr int64_t kMost = int64_t{1} << 24;
  require(parts <= kMost, op, ": ", parts, " parts are more than can be made (at most ", kMost, "); use fewer");
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  require(x.dim() > 0, "split: a 0-d tensor cannot be split");
  const int d = wrap_dim("split", dim, x.dim());
  const int64_t n = x.size(d);
  require(size > 0 || (size == 0 && n == 0), "split: the size of a part must be positive, got ", size);
  require_parts("split", size == 0 ? 1 : (n - 1) / size + 1);
  Dims sizes;
  for (int64_t at = 0; at < n; at += size) {
    sizes.push_back(std::min(size, n - at));
    if (size >= n - at) break;  // otherwise `at` might overflow
  }
  if (sizes.empty()) sizes.push_back(0);
  return split_sizes(x, sizes, d);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  require(x.dim() > 0, "chunk: a 0-d tensor cannot be split");
  require(chunks > 0, "chunk: the number of chunks must be positive, got ", chunks);
  const int d = wrap_dim("chunk", dim, x.dim());
  const int64_t n = x.size(d);
  if (n == 0) {
    require_parts("chunk", chunks);
    return split_sizes(x, Dims(static_cast<int>(chunks), 0), d);
  }
  return split(x, (n - 1) / chunks + 1, d);
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  require(x.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  require(sections > 0, "tensor_split: the number of sections must be positive, got ", sections);
  const int d = wrap_dim("tensor_split", dim, x.dim());
  require_parts("tensor_split", sections);
  Dims sizes;
  for (int64_t i = 0; i < sections; ++i) sizes.push_back(x.size(d) / sections + (i < x.size(d) % sections));
  return split_sizes(x, sizes, d);
}

std::vector<Tensor> tensor_split(const Tensor& x, const Dims& indices, int64_t dim) {
  require(x.dim() > 0, "tensor_split: a 0-d tensor cannot be split");
  const int d = wrap_dim("tensor_split", dim, x.dim());
  const int64_t n = x.size(d);
  // As x[start:end] for each pair of adjacent indices: they need not ascend, so these are separate slices.
  std::vector<Tensor> ys;
  int64_t start = 0;
  for (int i = 0; i <= indices.size(); ++i) {
    const int64_t raw = i < indices.size() ? indices[i] : n;
    const int64_t end = std::clamp<int64_t>(raw < 0 ? raw + n : raw, 0, n);
    ys.push_back(slice(x, d, start, std::max(start, end), 1));
    start = end;
  }
  return ys;
}

// ---- repeating ------------------------------------------------------------------------------------------------------

Tensor repeat(const Tensor& x, const Dims& counts) {
  require(counts.size() >= x.dim(), "repeat: ", counts.size(), " counts for a tensor of ", x.dim(),
          " dimensions; there must be one for each");
  require(2 * counts.size() <= kMaxDims, "repeat: at most ", kMaxDims / 2, " dimensions can be repeated, got ",
          counts.size());
  for (int64_t c : counts) require(c >= 0, "repeat: counts must not be negative, got ", counts);
  // Both as (count, size, count, size, ...): one copy with broadcasting.
  const int lead = counts.size() - x.dim();
  Dims shape, pairs, source, strides, summed;
  for (int d = 0; d < counts.size(); ++d) {
    const int64_t n = d < lead ? 1 : x.size(d - lead);
    shape.push_back(checked::mul("repeat", counts[d], n));
    summed.push_back(pairs.size());
    pairs.push_back(counts[d]);
    pairs.push_back(n);
    source.push_back(1);
    source.push_back(n);
    strides.push_back(0);
    strides.push_back(d < lead ? 0 : x.stride(d - lead));
  }
  Tensor y = empty(shape, x.dtype());
  const Dims to = contiguous_strides(pairs);
  if (y.numel() > 0)
    kernels::copy(View{y->data, y.dtype(), pairs.size(), pairs.data(), to.data()},
                  View{x->data, x.dtype(), source.size(), source.data(), strides.data()});
  return record("repeat", y, inputs(x), save(), [pairs, summed, from = x.shape()](const Tensor& dy, const Saved&) {
    if (summed.empty()) return Grads{dy};
    // the repeated shape may have sizes beyond the element count
    if (dy.numel() == 0) return Grads{zeros(from, dy.dtype())};
    return Grads{reshape(sum(reshape(dy, pairs), summed, false), from)};
  });
}

Tensor tile(const Tensor& x, const Dims& counts) {
  Dims all = counts;
  while (all.size() < x.dim()) all.insert(0, 1);
  return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x_in, int64_t count, std::optional<int64_t> dim) {
  const Tensor x = dim ? x_in : flatten(x_in);
  require(count >= 0, "repeat_interleave: repeats must not be negative, got ", count);
  const int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  Dims shape = x.shape(), wide;
  if (x.dim() == 0) shape = {1};
  wide = shape;
  wide.insert(d + 1, count);
  shape[d] = checked::mul("repeat_interleave", shape[d], count);
  const Tensor y = reshape(expand(unsqueeze(x.dim() == 0 ? reshape(x, {1}) : x, d + 1), wide), shape);
  return y->storage == x->storage ? clone(y) : y;  // not a view: the caller may write to it
}

Tensor repeat_positions(const Tensor& counts) {
  require(counts.dim() == 1, "repeat_interleave: repeats must be a vector, got shape ", counts.shape());
  require<DTypeError>(counts.dtype() == DType::Int64 || counts.dtype() == DType::Int32,
                      "repeat_interleave: repeats must be int64 or int32, got ", counts.dtype());
  const WithGradMode off(false);
  const Tensor plain = contiguous(cast(counts, DType::Int64));
  const int64_t* n = plain.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < plain.numel(); ++i) {
    require(n[i] >= 0, "repeat_interleave: repeats must not be negative, got ", n[i]);
    total = checked::add("repeat_interleave", total, n[i]);
  }
  Tensor positions = empty({total}, DType::Int64);
  int64_t* out = positions.data<int64_t>();
  for (int64_t i = 0; i < plain.numel(); ++i) out = std::fill_n(out, n[i], i);
  return untracked(std::move(positions));
}

Tensor repeat_interleave(const Tensor& x_in, const Tensor& counts, std::optional<int64_t> dim) {
  const Tensor x = dim ? x_in : flatten(x_in);
  const int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  require(x.dim() > 0, "repeat_interleave: a 0-d tensor has no dimension to repeat along");
  Tensor each = counts;
  if (counts.numel() == 1 && x.size(d) != 1) each = expand(reshape(counts, {1}), {x.size(d)});
  require(each.dim() == 1 && each.size(0) == x.size(d), "repeat_interleave: ", counts.numel(),
          " repeats for dimension ", d, " of size ", x.size(d));
  std::vector<Tensor> indices(static_cast<size_t>(d) + 1);
  indices.back() = repeat_positions(each);
  return index(x, indices);
}

// ---- reversing and rotating -----------------------------------------------------------------------------------------

Tensor flip(const Tensor& x, const Dims& dims) {
  InlineVec<bool, 8> flipped(std::max(x.dim(), 1), false);
  for (int64_t dim : dims) {
    const int d = wrap_dim("flip", dim, x.dim());
    require(!flipped[d], "flip: dim ", d, " appears twice in ", dims);
    flipped[d] = true;
  }
  // The source is read backwards, starting at its last element.
  Dims strides = x.strides();
  int64_t first = 0;
  for (int d = 0; d < x.dim(); ++d) {
    if (!flipped[d]) continue;
    first += (x.size(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  Tensor y = empty_like(x);
  if (x.numel() > 0)
    kernels::copy(y.view(),
                  View{x->data + first * itemsize(x.dtype()), x.dtype(), x.dim(), x.shape().data(), strides.data()});
  return record("flip", y, inputs(x), save(), [dims](const Tensor& dy, const Saved&) { return Grads{flip(dy, dims)}; });
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  if (dims.empty() && x.dim() != 1) {
    require(shifts.size() == 1, "roll: ", shifts.size(), " shifts without dims; give one for each dim");
    return reshape(roll(flatten(x), shifts, {0}), x.shape());
  }
  const Dims along = dims.empty() ? Dims{0} : dims;
  require(shifts.size() == along.size(), "roll: ", shifts.size(), " shifts for ", along.size(), " dims");
  Dims by(x.dim(), 0);
  for (int i = 0; i < along.size(); ++i) {
    const int d = wrap_dim("roll", along[i], x.dim());
    if (x.dim() == 0 || x.size(d) == 0) continue;
    const int64_t n = x.size(d);
    by[d] = ((by[d] + shifts[i] % n) % n + n) % n;
  }
  Tensor y = empty(x.shape(), x.dtype());
  // Along each rolled dimension, two pieces are swapped: copy every combination of pieces.
  Dims rolled;
  for (int d = 0; d < x.dim(); ++d)
    if (by[d] > 0) rolled.push_back(d);
  for (int64_t pieces = 0; pieces < int64_t{1} << rolled.size() && y.numel() > 0; ++pieces) {
    Tensor from = x, to = y;
    for (int i = 0; i < rolled.size(); ++i) {
      const int d = static_cast<int>(rolled[i]);
      const int64_t n = x.size(d), head = n - by[d];
      const bool tail = pieces >> i & 1;
      from = part_of(from, d, tail ? head : 0, tail ? by[d] : head);
      to = part_of(to, d, tail ? 0 : by[d], tail ? by[d] : head);
    }
    kernels::copy(to.view(), from.view());
  }
  return record("roll", y, inputs(x), save(), [by](const Tensor& dy, const Saved&) {
    Dims back, all;
    for (int d = 0; d < by.size(); ++d) {
      back.push_back(-by[d]);
      all.push_back(d);
    }
    return Grads{by.empty() ? dy : roll(dy, back, all)};
  });
}

Tensor rot90(const Tensor& x, int64_t k, const Dims& dims) {
  require(dims.size() == 2, "rot90: expected two dims, got ", dims);
  require(x.dim() >= 2, "rot90: needs a tensor of at least 2 dimensions, got shape ", x.shape());
  const int a = wrap_dim("rot90", dims[0], x.dim()), b = wrap_dim("rot90", dims[1], x.dim());
  require(a != b, "rot90: the two dims are both ", a);
  switch ((k % 4 + 4) % 4) {
    case 0: return clone(x);
    case 1: return transpose(flip(x, {b}), a, b);
    case 2: return flip(x, {a, b});
    default: return transpose(flip(x, {a}), a, b);
  }
}

// ---- diagonals and triangles ----------------------------------------------------------------------------------------

Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  require(x.dim() > 0, "diag_embed: needs a tensor of at least 1 dimension");
  const int n = x.dim() + 1;
  const int a = wrap_dim("diag_embed", dim1, n), b = wrap_dim("diag_embed", dim2, n);
  require(a != b, "diag_embed: dim1 and dim2 are both ", a);
  const int64_t distance = offset < 0 ? -std::max(offset, -checked::kMaxSize) : offset;
  const int64_t size = checked::size("diag_embed", checked::add("diag_embed", x.size(-1), distance));
  Dims shape;
  for (int d = 0, from = 0; d < n; ++d) shape.push_back(d == a || d == b ? size : x.size(from++));
  Tensor y = zeros(shape, x.dtype());
  {
    const WithGradMode off(false);
    kernels::copy(diagonal(y, offset, a, b).view(), x.view());
  }
  return record("diag_embed", y, inputs(x), save(),
                [offset, a, b](const Tensor& dy, const Saved&) { return Grads{diagonal(dy, offset, a, b)}; });
}

Tensor diag(const Tensor& x, int64_t offset) {
  require(x.dim() == 1 || x.dim() == 2, "diag: needs a vector or a matrix, got shape ", x.shape());
  return x.dim() == 1 ? diag_embed(x, offset, 0, 1) : clone(diagonal(x, offset, 0, 1));
}

static Tensor triangle(const char* op, const Tensor& x, int64_t k, bool upper, Out out) {
  require(x.dim() >= 2, op, ": needs a tensor of at least 2 dimensions, got shape ", x.shape());
  k = std::clamp(k, -x.size(-2), x.size(-1));
  Tensor y = out ? *out.tensor : empty(x.shape(), x.dtype());
  kernels::triangle(y.view(), x.view(), k, upper);
  return record(op, y, inputs(x), save(),
                [op, k, upper](const Tensor& dy, const Saved&) { return Grads{triangle(op, dy, k, upper, {})}; });
}

Tensor tril(const Tensor& x, int64_t diagonal, Out out) { return triangle("tril", x, diagonal, false, out); }
Tensor triu(const Tensor& x, int64_t diagonal, Out out) { return triangle("triu", x, diagonal, true, out); }
Tensor tril_(const Tensor& x, int64_t diagonal) {
  return inplace("tril_", x, {}, [&](const Tensor& input, Out out) { return tril(input, diagonal, out); });
}
Tensor triu_(const Tensor& x, int64_t diagonal) {
  return inplace("triu_", x, {}, [&](const Tensor& input, Out out) { return triu(input, diagonal, out); });
}

Tensor triangle_indices(int64_t rows, int64_t cols, int64_t offset, bool upper, DType dtype) {
  const char* op = upper ? "triu_indices" : "tril_indices";
  require(rows >= 0 && cols >= 0, op, ": the sizes must not be negative, got ", rows, " and ", cols);
  require<DTypeError>(dtype == DType::Int64 || dtype == DType::Int32, op, ": dtype must be int64 or int32, got ",
                      dtype);
  if (rows == 0 || cols == 0) return untracked(empty({2, 0}, dtype));
  offset = std::clamp(offset, -checked::size(op, rows), checked::size(op, cols));
  const auto span = [&](int64_t i) {
    const int64_t cut = std::clamp<int64_t>(i + offset + (upper ? 0 : 1), 0, cols);
    return upper ? std::pair{cut, cols} : std::pair{int64_t{0}, cut};
  };
  // Rows before `rising` have no elements below the diagonal, those from `full` on all of them; in between, each row
  // has one more.
  const int64_t shift = offset + (upper ? 0 : 1);
  const int64_t rising = std::clamp<int64_t>(-shift, 0, rows), full = std::clamp<int64_t>(cols - shift, rising, rows);
  const auto sum_to = [&](int64_t k) {
    return k % 2 ? checked::mul(op, k, k / 2 + 1) : checked::mul(op, k / 2, k + 1);
  };
  const auto below = [&](int64_t i) { return std::clamp<int64_t>(i + shift, 0, cols); };
  int64_t n = checked::mul(op, rows - full, cols);
  if (full > rising) n = checked::add(op, n, sum_to(below(full - 1)) - sum_to(std::max<int64_t>(below(rising) - 1, 0)));
  if (upper) n = checked::mul(op, rows, cols) - n;
  // Rows without elements are skipped: there may be many more of them than results.
  const int64_t begin = upper ? 0 : rising, end_row = upper ? full : rows;
  Tensor y = empty({2, n}, DType::Int64);
  int64_t* row = on_meta ? nullptr : y.data<int64_t>();
  int64_t* col = row + n;
  Pace pace;
  for (int64_t i = n == 0 || on_meta ? end_row : begin; i < end_row; ++i)
    for (auto [j, end] = span(i); j < end; ++j) {
      pace.spend(1);
      *row++ = i;
      *col++ = j;
    }
  return untracked(cast(y, dtype));
}

}  // namespace genesis::ops
