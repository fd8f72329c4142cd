#include "ops/resample.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Move, .page = "neural"}, [] {
  def<"_resample(Tensor input, int[] size, str mode, bool align_corners=False, bool antialias=False, float[]? "
      "scales=None) -> Tensor",
      [](Args& a) {
        ops::ResampleOptions options{a.string(2), a.boolean(3), a.boolean(4), {}};
        if (a.has(5)) {
          const Object list(PySequence_Fast(a[5], "a sequence of numbers"));
          for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
            PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
            if (!is_number(item)) a.fail(5, "a sequence of numbers");
            options.scales.push_back(to_scalar(item).to_double());
          }
        }
        return ops::resample(a.tensor(0), a.dims(1), options);
      }>(kFunction, "(batch, channels, *spatial) at another spatial size.");
  def<"_unfold_windows(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> "
      "Tensor",
      [](Args& a) { return ops::unfold_windows(a.tensor(0), {a.dims(1), a.dims(2), a.dims(3), a.dims(4)}); }>(
      kFunction, "The windows of images as columns: (batch, channels * taps, windows).",
      {.kind = Kind::Window, .flops = Flops::Output, .takes = Takes::Complex});
  def<"_fold_windows(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] "
      "stride=1) -> Tensor",
      [](Args& a) { return ops::fold_windows(a.tensor(0), a.dims(1), {a.dims(2), a.dims(3), a.dims(4), a.dims(5)}); }>(
      kFunction, "Columns added up to images: the transpose of unfold.",
      {.kind = Kind::Window, .flops = Flops::Output, .takes = Takes::Complex});
});

}  // namespace genesis::py
