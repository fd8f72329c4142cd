#include "kernels/loss/ctc.h"

#include "autograd/record.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/loss.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

kernels::Ctc problem(const Tensor& log_probs, const Tensor& labels, const Tensor& offsets, const Tensor& input_lengths,
                     const Tensor& target_lengths, int64_t blank) {
  return {log_probs.size(0),
          log_probs.size(1),
          log_probs.size(2),
          blank,
          labels.address<int64_t>(),
          offsets.address<int64_t>(),
          input_lengths.address<int64_t>(),
          target_lengths.address<int64_t>()};
}

Tensor per_frame(const Tensor& losses) { return unsqueeze(unsqueeze(losses, 0), -1); }

// The offsets of the labels of each sequence. Checks the lengths and the labels.
Tensor checked_offsets(const char* op, const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank) {
  const int64_t frames = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  require(input_lengths.shape() == Dims{batch} && target_lengths.shape() == Dims{batch}, op, ": there are ", batch,
          " sequences, but input_lengths is ", input_lengths.shape(), " and target_lengths ", target_lengths.shape());
  const Tensor offsets = empty({batch}, DType::Int64);
  if (on_meta) return offsets;
  int64_t total = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = input_lengths.data<int64_t>()[n], spelt = target_lengths.data<int64_t>()[n];
    require(length >= 0 && length <= frames, op, ": input_lengths[", n, "] is ", length, ", but log_probs has ", frames,
            " frames");
    require(spelt >= 0, op, ": target_lengths[", n, "] is ", spelt, "; it must not be negative");
    offsets.data<int64_t>()[n] = total;
    total += spelt;
  }
  require(labels.numel() == total, op, ": target_lengths add up to ", total, ", but there are ", labels.numel(),
          " targets");
  for (int64_t i = 0; i < total; ++i) {
    const int64_t label = labels.data<int64_t>()[i];
    require<IndexError>(label >= 0 && label < classes && label != blank, op, ": target ", label,
                        label == blank ? " is the blank" : " is out of range", "; valid: 0..", classes - 1,
                        " except the blank ", blank);
  }
  return offsets;
}

// The gradient as a function of dz and log_probs: linear in dz, and with a derivative by log_probs that the kernel
// computes.
Tensor ctc_backward(const Tensor& dz, const Saved& saved, int64_t blank) {
  const Tensor x = saved[0], slopes = saved[1];
  Tensor dx;
  {
    const WithGradMode off(false);
    dx = slopes * per_frame(dz);
  }
  return record("ctc_loss_backward", dx, inputs(dz, x), save(dz, x, slopes, saved[2], saved[3], saved[4], saved[5]),
                [blank](const Tensor& g, const Saved& saved) {
                  const Tensor dz = saved[0], slopes = saved[2];
                  Tensor to_dz, to_x;
                  if (saved.needs(0)) to_dz = sum(g * slopes, {0, 2}, false);
                  if (saved.needs(1)) {
                    require<GraphError>(!grad_mode.enabled,
                                        "ctc_loss: there is no third derivative; call backward() without create_graph");
                    const WithGradMode off(false);
                    const Tensor x = contiguous(saved[1]), direction = contiguous(g);
                    const Tensor product = empty(x.shape(), x.dtype());
                    kernels::ctc_second(product.view(), x.view(), direction.view(),
                                        problem(x, saved[3], saved[4], saved[5], saved[6], blank));
                    to_x = product * per_frame(dz);
                  }
                  return Grads{to_dz, to_x};
                });
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank) {
  const char* op = "ctc_loss";
  require<DTypeError>(log_probs.dtype() == DType::Float32 || log_probs.dtype() == DType::Float64, op,
                      ": log_probs must be float32 or float64, got ", log_probs.dtype(), "; use log_probs.float()");
  require(log_probs.dim() == 3, op, ": log_probs must be (frames, batch, classes), got ", log_probs.shape());
  const int64_t frames = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  require<IndexError>(blank >= 0 && blank < classes, op, ": blank ", blank, " is out of range for ", classes,
                      " classes");
  const bool wanted = inputs(log_probs).tracked();
  const Tensor loss = empty({batch}, log_probs.dtype());
  Tensor labels64, inputs64, targets64, offsets, slopes, counted;
  {
    const WithGradMode off(false);
    labels64 = contiguous(cast(labels, DType::Int64));
    inputs64 = contiguous(cast(input_lengths, DType::Int64));
    targets64 = contiguous(cast(target_lengths, DType::Int64));
    offsets = checked_offsets(op, log_probs, labels64, inputs64, targets64, blank);
    const Tensor x = contiguous(log_probs);
    if (wanted) slopes = empty(x.shape(), x.dtype());
    const View nowhere{nullptr, x.dtype(), 0, nullptr, nullptr};
    if (x.numel() > 0)
      kernels::ctc(loss.view(), wanted ? slopes.view() : nowhere, x.view(),
                   problem(x, labels64, offsets, inputs64, targets64, blank));
    if (wanted) {  // frames of a sequence that has a finite loss, (frames, batch, 1)
      const Tensor within = lt(unsqueeze(arange(0, frames, 1, DType::Int64), -1), inputs64);
      counted = unsqueeze(cast(logical_and(within, isfinite(loss)), x.dtype()), -1);
    }
  }
  return record(op, loss, inputs(log_probs), save(log_probs, slopes, labels64, offsets, inputs64, targets64, counted),
                [blank](const Tensor& dz, const Saved& saved) {
                  // The probabilities add up to 1, and PyTorch's gradient takes this into account: it is the gradient
                  // with respect to the input of log_softmax(). Through log_softmax() both are equal.
                  const Tensor normalised = exp(saved[0]) * saved[6] * per_frame(dz);
                  return Grads{ctc_backward(dz, saved, blank) + normalised};
                });
}

}  // namespace genesis::ops
