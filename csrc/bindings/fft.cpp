#include "ops/fft.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Linalg, .batch = Batch::Loop, .takes = Takes::Complex, .page = "matrix"}, [] {
  def<"_fft(Tensor input, int[] dim, bool inverse, float scale) -> Tensor", [](Args& a) {
    return ops::fft(a.tensor(0), a.dims(1), a.boolean(2), a.number(3));
  }>(kFunction, "The Fourier transform along dimensions, times `scale`.");
  def<"_fft_real(Tensor input, int dim, float scale) -> Tensor", [](Args& a) {
    return ops::fft_real(a.tensor(0), a.integer(1), a.number(2));
  }>(kFunction, "The first half of the Fourier transform of a real tensor along a dimension, times `scale`.");
  def<"_fft_to_real(Tensor input, int dim, int n, float scale) -> Tensor", [](Args& a) {
    return ops::fft_to_real(a.tensor(0), a.integer(1), a.integer(2), a.number(3));
  }>(kFunction, "The inverse Fourier transform to n real values along a dimension, times `scale`.");
});

}  // namespace genesis::py
