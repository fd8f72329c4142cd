#include "bindings/traits.h"

namespace genesis::py {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::Unset: return "unset";
    case Kind::Pointwise: return "pointwise";
    case Kind::Activation: return "activation";
    case Kind::Reduction: return "reduction";
    case Kind::Scan: return "scan";
    case Kind::Sort: return "sort";
    case Kind::View: return "view";
    case Kind::Move: return "move";
    case Kind::Index: return "index";
    case Kind::Create: return "create";
    case Kind::Random: return "random";
    case Kind::Matrix: return "matrix";
    case Kind::Linalg: return "linalg";
    case Kind::Window: return "window";
    case Kind::Pool: return "pool";
    case Kind::Norm: return "norm";
    case Kind::Loss: return "loss";
    case Kind::Attention: return "attention";
    case Kind::Recurrent: return "recurrent";
    case Kind::Query: return "query";
    case Kind::Tool: return "tool";
  }
  return "unset";
}

const char* name_of(Cast cast) {
  switch (cast) {
    case Cast::Low: return "low";
    case Cast::Wide: return "wide";
    default: return "as_is";
  }
}

const char* name_of(Flops flops) {
  switch (flops) {
    case Flops::ByKind: return "by_kind";
    case Flops::None: return "none";
    case Flops::Output: return "output";
    case Flops::Input: return "input";
    case Flops::FiveInput: return "five_input";
    case Flops::Matmul: return "matmul";
    case Flops::AddMatmul: return "add_matmul";
    case Flops::Dot: return "dot";
    case Flops::Linear: return "linear";
    case Flops::Conv: return "conv";
    case Flops::ConvTranspose: return "conv_transpose";
    case Flops::Attention: return "attention";
    case Flops::Contraction: return "contraction";
  }
  return "by_kind";
}

Flops flops_of(Kind kind) {
  switch (kind) {
    case Kind::View:
    case Kind::Move:
    case Kind::Index:
    case Kind::Create:
    case Kind::Random:
    case Kind::Query:
    case Kind::Tool: return Flops::None;
    case Kind::Reduction:
    case Kind::Scan:
    case Kind::Pool:
    case Kind::Loss: return Flops::Input;
    case Kind::Norm: return Flops::FiveInput;
    case Kind::Matrix: return Flops::Matmul;
    case Kind::Window: return Flops::Conv;
    case Kind::Attention: return Flops::Attention;
    default: return Flops::Output;
  }
}

const char* name_of(Takes takes) {
  switch (takes) {
    case Takes::ByKind: return "by_kind";
    case Takes::Real: return "real";
    case Takes::Complex: return "complex";
    case Takes::Any: return "any";
  }
  return "by_kind";
}

// Elementwise operators and matrix products raise by themselves if an operation is not defined.
Takes takes_of(Kind kind) {
  switch (kind) {
    case Kind::View:
    case Kind::Move:
    case Kind::Index:
    case Kind::Create:
    case Kind::Query:
    case Kind::Tool:
    case Kind::Unset: return Takes::Any;
    case Kind::Pointwise:
    case Kind::Matrix: return Takes::Complex;
    default: return Takes::Real;
  }
}

const char* name_of(Batch batch) {
  switch (batch) {
    case Batch::ByKind: return "by_kind";
    case Batch::Elementwise: return "elementwise";
    case Batch::Dims: return "dims";
    case Batch::Leading: return "leading";
    case Batch::Loop: return "loop";
    case Batch::Never: return "never";
  }
  return "by_kind";
}

Batch batch_of(Kind kind) {
  switch (kind) {
    case Kind::Activation:
    case Kind::Pointwise: return Batch::Elementwise;
    case Kind::Reduction:
    case Kind::Scan:
    case Kind::View:
    case Kind::Move: return Batch::Dims;
    case Kind::Linalg: return Batch::Leading;
    case Kind::Query:
    case Kind::Tool: return Batch::Never;
    default: return Batch::Loop;
  }
}

}  // namespace genesis::py
