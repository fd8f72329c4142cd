#include "ops/resample.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static Dims dims_or(Args& a, int i, int64_t absent) { return a.has(i) ? a.dims(i) : Dims{absent}; }

static const Family family([] {
  def<"_resample(input, size, mode, align_corners=False, antialias=False, scales=None)", [](Args& a) {
    ops::ResampleOptions options{a.string(2), a.boolean(3, false), a.boolean(4, false), {}};
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
  def<"_unfold_windows(input, kernel_size, dilation=1, padding=0, stride=1)", [](Args& a) {
    return ops::unfold_windows(a.tensor(0), {a.dims(1), dims_or(a, 2, 1), dims_or(a, 3, 0), dims_or(a, 4, 1)});
  }>(kFunction, "The windows of images as columns: (batch, channels * taps, windows).");
  def<"_fold_windows(input, output_size, kernel_size, dilation=1, padding=0, stride=1)", [](Args& a) {
    return ops::fold_windows(a.tensor(0), a.dims(1), {a.dims(2), dims_or(a, 3, 1), dims_or(a, 4, 0), dims_or(a, 5, 1)});
  }>(kFunction, "Columns added up to images: the transpose of unfold.");
});

}  // namespace genesis::py
