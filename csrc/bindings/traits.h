// Properties of an operator in addition to its signature. Autocast, FLOP counts, the colours of graphs, the pages of
// the reference and batching read them.
#pragma once

#include <cstdint>

namespace genesis::py {

// How results depend on inputs.
enum class Kind : uint8_t {
  Unset,
  Pointwise,   // each element of the result depends on one of each input, after broadcasting
  Activation,  // pointwise, or along one dimension, as used in networks
  Reduction,   // fewer outputs than inputs
  Scan,        // along a dimension, each element depends on the previous ones
  Sort,        // sorting, searching and sets
  View,        // the same memory in another shape
  Move,        // the same values at other positions
  Index,       // positions given by other tensors
  Create,      // tensors from sizes and numbers
  Random,      // random numbers
  Matrix,      // products of matrices
  Linalg,      // decompositions and functions based on them
  Window,      // convolutions
  Pool,        // reductions over windows
  Norm,        // normalizations
  Loss,
  Attention,
  Recurrent,
  Query,  // properties of tensors, not tensors
  Tool,   // not an operator
};
const char* name_of(Kind kind);

// The dtype to which autocast casts floating arguments.
enum class Cast : uint8_t {
  ByFamily,  // as in the family; none by default
  AsIs,      // none: ordinary type promotion
  Low,       // half precision: products, which are bound by the multiplication
  Wide,      // float32: sums of many terms, and functions that exceed the range or the precision of half precision
};
const char* name_of(Cast cast);

// How floating point operations are counted (python/genesis/_flops.py).
enum class Flops : uint8_t {
  ByKind,     // according to the kind
  None,       // only moves or views memory
  Output,     // one per element of the result
  Input,      // one per element of the first input
  FiveInput,  // five per element of the first input
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

// How vmap can handle the operator.
enum class Batch : uint8_t {
  ByKind,       // according to the kind
  Elementwise,  // the new dimension broadcasts like any other
  Dims,         // the new dimension goes first, and arguments that name dimensions shift by one
  Leading,      // accepts any number of leading dimensions
  Loop,         // called once per element
  Never,        // has no tensors that could be mapped over
};
const char* name_of(Batch batch);
Batch batch_of(Kind kind);

// Which dtypes the tensors among the arguments may have; others are rejected before the operator runs.
enum class Takes : uint8_t {
  ByKind,
  Real,     // those that kernels compute with
  Complex,  // these and complex ones
  Any,      // also storage-only dtypes (uint16, float8_e5m2, ...)
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
  // Additional names of the function in other modules, "special.psi special.digamma", besides that of its prefix:
  // linalg_det is linalg.det.
  const char* also = nullptr;
};

}  // namespace genesis::py
