#include "engine/rows.h"

#include "core/error.h"
#include "engine/backward.h"
#include "ops/create.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/view.h"

namespace genesis::engine {

Dims batch_of(int64_t n, const Dims& shape) {
  Dims result{n};
  for (int64_t size : shape) result.push_back(size);
  return result;
}

Grads row(const Grads& batch, int64_t i) {
  Grads one;
  for (const Tensor& g : batch) one.push_back(g.defined() ? ops::select(g, 0, i) : Tensor());
  return one;
}

Grads stack_rows(const std::vector<Grads>& rows) {
  Grads batch;
  for (int k = 0; k < rows.front().size(); ++k) {
    Tensor some;
    std::vector<Tensor> column;
    for (const Grads& row : rows) {
      column.push_back(row[k]);
      if (row[k].defined()) some = row[k];
    }
    if (!some.defined()) {
      batch.push_back(Tensor());
      continue;
    }
    require<GraphError>(!special_gradients.is_one || !special_gradients.is_one(some),
                        "grad: is_grads_batched=True needs dense gradients, got a sparse one; build the layer with "
                        "sparse=False");
    for (Tensor& g : column)
      if (!g.defined()) g = ops::zeros(some.shape(), some.dtype());
    batch.push_back(ops::stack(column, 0));
  }
  return batch;
}

Tensor sum_rows_to(const Tensor& batch, const Dims& shape) {
  const Dims whole = batch_of(batch.size(0), shape);
  if (batch.shape() == whole) return batch;
  const int lead = batch.dim() - whole.size();
  Dims dims;
  for (int d = 1; d < batch.dim(); ++d)
    if (d <= lead || (whole[d - lead] == 1 && batch.size(d) != 1)) dims.push_back(d);
  const Tensor sums = dims.empty() ? batch : ops::sum(batch, dims, true);
  return lead > 0 ? ops::reshape(sums, whole) : sums;
}

Tensor with_rows(Tensor grad, const Tensor& dy, const Dims* shape) {
  if (grad.shape() == dy.shape()) return grad;
  if (shape && grad.shape() == *shape) return ops::expand(grad, batch_of(dy.size(0), *shape));
  return ops::expand(grad, dy.shape());
}

}  // namespace genesis::engine
