// Properties of an operator in addition to its signature. Autocast, FLOP counts, the colours of graphs, the pages of
// the reference and batching read them.
#pragma once

#include <cstdint>

namespace genesis::py {

// How results depend on inputs.
enum class Kind : uint8_t {
  Unset,
  Pointwise,   // each element of the result on one of each input, after broadcasting
  Activation,  // pointwise, or along one dimension, as networks use it
  Reduction,   // fewer elements out than in
  Scan,        // along a dimension, each on those before it
  Sort,        // orders, searches and sets
  View,        // the same memory in another shape
  Move,        // the same values in other places
  Index,       // places that other tensors say
  Create,      // tensors from sizes and numbers
  Random,      // numbers drawn
  Matrix,      // products of matrices
  Linalg,      // decompositions and what is made of them
  Window,      // convolutions
  Pool,        // windows that are reduced
  Norm,        // normalisations
  Loss,
  Attention,
  Recurrent,
  Query,  // answers about tensors that are no tensors
  Tool,   // no operator
};
const char* name_of(Kind kind);

// What autocast casts floating arguments to.
enum class Cast : uint8_t {
  ByFamily,  // what the family says, nothing if it says nothing
  AsIs,      // nothing: types promote as they always do
  Low,       // half precision: products, whose cost is in the multiplication
  Wide,      // float32: sums of many terms, and functions that leave the range of half precision or lose its digits
};
const char* name_of(Cast cast);

// How floating point operations are counted (python/genesis/_flops.py).
enum class Flops : uint8_t {
  ByKind,     // what the kind says
  None,       // moves or shows memory only
  Output,     // one for each element of the result
  Input,      // one for each element of the first input
  FiveInput,  // five for each element of the first input
  Matmul,
  AddMatmul,
  Dot,
  Linear,
  Conv,
  ConvTranspose,
  Attention,
  Contraction,
};
const char* name_of(Flops flops);
Flops flops_of(Kind kind);

// How a function that maps over a new dimension can treat the operator.
enum class Batch : uint8_t {
  ByKind,       // what the kind says
  Elementwise,  // the new dimension broadcasts like any other
  Dims,         // the new dimension goes first, and arguments that name dimensions move by one
  Leading,      // takes any number of dimensions before its own
  Loop,         // called once for each element
  Never,        // no tensors that could be mapped over
};
const char* name_of(Batch batch);
Batch batch_of(Kind kind);

// Which dtypes the tensors among the arguments may have; others are refused before the operator runs.
enum class Takes : uint8_t {
  ByKind,
  Real,     // those that kernels compute with
  Complex,  // these and complex ones
  Any,      // also those that are only stored (uint16, float8_e5m2, ...)
};
const char* name_of(Takes takes);
Takes takes_of(Kind kind);

struct Traits {
  Kind kind = Kind::Unset;
  Cast autocast = Cast::ByFamily;
  Flops flops = Flops::ByKind;
  Batch batch = Batch::ByKind;
  Takes takes = Takes::ByKind;
  const char* page = nullptr;  // of the reference
  // Names of the function in other modules, "special.psi special.digamma", besides that of its prefix: linalg_det is
  // linalg.det.
  const char* also = nullptr;
};

}  // namespace genesis::py
