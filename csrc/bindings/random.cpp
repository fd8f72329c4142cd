// Random numbers and their generators.
#include "ops/random.h"

#include <cstring>

#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/memory_format.h"
#include "bindings/module.h"
#include "ops/create.h"

namespace genesis::py {

namespace {

// ---- genesis.Generator ----------------------------------------------------------------------------------------------

struct PyGenerator {
  PyObject_HEAD Generator own;
  Generator* used;  // &own, or the default generator
};

PyTypeObject* GeneratorType;
PyObject* default_object;

Generator& get(PyObject* o) { return *reinterpret_cast<PyGenerator*>(o)->used; }

PyObject* new_generator(PyTypeObject* type) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw_python();
  auto* self = reinterpret_cast<PyGenerator*>(o);
  self->own = Generator{.seed = 0};  // constant, as in PyTorch: a user-created generator is reproducible
  self->used = &self->own;
  return o;
}
PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
  return guarded([&] {
    check_device(device);
    return new_generator(type);
  });
}

// Any int from -2^63 to 2^64 - 1; a negative one means its two's complement.
uint64_t to_seed(PyObject* o) {
  if (!PyIndex_Check(o)) throw_type_error(str("manual_seed: the seed must be an int, got ", Py_TYPE(o)->tp_name));
  const Object index(PyNumber_Index(o));
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(value);
  require(overflow > 0, "manual_seed: the seed must be between -2^63 and 2^64 - 1");
  const unsigned long long large = PyLong_AsUnsignedLongLong(index.get());
  if (large == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
    PyErr_Clear();
    fail("manual_seed: the seed must be between -2^63 and 2^64 - 1");
  }
  return large;
}

constexpr size_t kStateBytes = 2 * sizeof(uint64_t);  // seed, number of used counters

Tensor state_of(const Generator& g) {
  Tensor t = empty({static_cast<int64_t>(kStateBytes)}, DType::UInt8);
  capture::interrupt("the state of a generator is read");
  std::memcpy(t->data, &g.seed, 8);
  std::memcpy(t->data + 8, &g.offset, 8);
  return t;
}
void set_state(const char* op, Generator& g, PyObject* state) {
  if (!is_tensor(state)) throw_type_error(str(op, ": the state must be a uint8 tensor, got ", Py_TYPE(state)->tp_name));
  const Tensor& t = unwrap(state);
  require<DTypeError>(t.dtype() == DType::UInt8, op, ": the state must be a uint8 tensor, got ", t.dtype());
  require(t.numel() == static_cast<int64_t>(kStateBytes) && t.dim() == 1, op, ": the state must have shape (",
          kStateBytes, ",), got ", t.shape());
  const Tensor bytes = ops::contiguous(t);
  capture::interrupt("the state of a generator is set");
  std::memcpy(&g.seed, bytes->data, 8);
  std::memcpy(&g.offset, bytes->data + 8, 8);
}

PyObject* seed_anew(Generator& g) {
  g.manual_seed(random_seed());
  return PyLong_FromUnsignedLongLong(g.seed);
}

PyObject* incref(PyObject* o) {
  Py_INCREF(o);
  return o;
}

PyMethodDef methods[] = {
    {"manual_seed",
     [](PyObject* o, PyObject* seed) {
       return guarded([&] {
         get(o).manual_seed(to_seed(seed));
         return incref(o);
       });
     },
     METH_O, "manual_seed($self, seed)\n--\n\nBegins the stream of a seed; returns the generator."},
    {"seed", [](PyObject* o, PyObject*) { return guarded([&] { return seed_anew(get(o)); }); }, METH_NOARGS,
     "seed($self)\n--\n\nBegins the stream of a seed from the system's entropy, and returns the seed."},
    {"initial_seed", [](PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(get(o).seed); }, METH_NOARGS,
     "initial_seed($self)\n--\n\nThe seed that the stream began with."},
    {"get_state", [](PyObject* o, PyObject*) { return guarded([&] { return wrap(state_of(get(o))); }); }, METH_NOARGS,
     "get_state($self)\n--\n\nThe state, a uint8 tensor."},
    {"set_state",
     [](PyObject* o, PyObject* state) {
       return guarded([&] {
         set_state("set_state", get(o), state);
         return incref(Py_None);
       });
     },
     METH_O, "set_state($self, new_state)\n--\n\nGoes back to a state that get_state returned."},
    {"__setstate__",
     [](PyObject* o, PyObject* state) {
       return guarded([&] {
         set_state("__setstate__", get(o), state);
         return incref(Py_None);
       });
     },
     METH_O, nullptr},
    {"clone_state",
     [](PyObject* o, PyObject*) {
       return guarded([&] {
         PyObject* copy = new_generator(GeneratorType);
         get(copy) = get(o);
         return copy;
       });
     },
     METH_NOARGS, "clone_state($self)\n--\n\nAnother generator in the same state."},
    {"__reduce__",
     [](PyObject* o, PyObject*) {
       return guarded([&] {
         if (o == default_object) return PyUnicode_FromString("default_generator");  // the name of a global of genesis
         return Py_BuildValue("O()N", GeneratorType, wrap(state_of(get(o))));
       });
     },
     METH_NOARGS, nullptr},
    {}};
PyGetSetDef getset[] = {{"device", [](PyObject*, void*) { return incref(device_object(false)); }, nullptr,
                         "Where the generator draws.", nullptr},
                        {}};

void init_generator() {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(generator_new)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_doc, const_cast<char*>(
                      "Generator(device='cpu')\n--\n\nA stream of random numbers: a seed and a place in its stream.")},
      {0, nullptr}};
  static PyType_Spec spec{"genesis.Generator", sizeof(PyGenerator), 0, Py_TPFLAGS_DEFAULT, slots};
  GeneratorType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(current_module(), "Generator", reinterpret_cast<PyObject*>(GeneratorType));
  default_object = new_generator(GeneratorType);
  reinterpret_cast<PyGenerator*>(default_object)->used = &default_generator();
  PyModule_AddObjectRef(current_module(), "default_generator", default_object);
}

// ---- arguments ------------------------------------------------------------------------------------------------------

Generator& generator(Args& a, int i) {
  if (!a.has(i)) return default_generator();
  if (Py_TYPE(a[i]) != GeneratorType) a.fail(i, "a genesis.Generator");
  return get(a[i]);
}

// dtype, device, requires_grad at slots i, i + 1, i + 2.
Tensor finish(Args& a, int i, Tensor t) {
  a.device(i + 1);
  if (a.boolean(i + 2, false)) set_requires_grad(t, true);
  return t;
}
DType dtype_or(Args& a, int i, DType absent) { return a.optional_dtype(i).value_or(absent); }

Dims sizes(Args& a, int i) {
  if (!a[i]) a.fail(i, "an int or a tuple of ints");
  return a.dims(i);
}

// randint(high, size), randint(low, high, size), all also by keyword.
Tensor randint(Args& a) {
  int64_t low = 0, high;
  int size = 2;
  if (a.has(1) && PyIndex_Check(a[1]) && !PySequence_Check(a[1])) {
    low = a.integer(0);
    high = a.integer(1);
  } else {
    if (!a.has(0)) a.fail(1, "an int");
    high = a.integer(0);
    if (a.has(1)) {
      if (a.has(2)) a.fail(1, "an int");
      size = 1;
    }
  }
  if (!a.has(size)) a.fail(2, "a tuple of ints");
  return finish(a, 4, ops::randint(low, high, a.dims(size), dtype_or(a, 4, DType::Int64), generator(a, 3)));
}

// finish() for a draw with the shape of the input; the memory format is the slot after requires_grad.
Tensor finish_like(Args& a, int i, Tensor t) {
  const Tensor& x = a.tensor(0);
  const ops::MemoryFormat format = memory_format(a, i + 3, ops::MemoryFormat::Preserve);
  const bool preserve = format == ops::MemoryFormat::Preserve;
  if (!(preserve ? x.contiguous() : ops::has_format(t, format))) {
    const Tensor y = preserve ? empty_like(x, t.dtype()) : ops::empty_in_format(a.name(), x.shape(), t.dtype(), format);
    t = untracked(ops::copy_(y, t));
  }
  return finish(a, i, std::move(t));
}

Tensor randint_like(Args& a) {
  const Tensor& x = a.tensor(0);
  if (!a.has(1) && !a.has(2)) a.fail(2, "an int");
  const int64_t low = a.has(2) ? a.integer(1) : 0, high = a.has(2) ? a.integer(2) : a.integer(1);
  return finish_like(a, 4, ops::randint(low, high, x.shape(), dtype_or(a, 4, x.dtype()), generator(a, 3)));
}

Tensor normal(Args& a) {
  const bool mean_tensor = a[0] && is_tensor(a[0]), std_tensor = a[1] && is_tensor(a[1]);
  Generator& g = generator(a, 3);
  if (mean_tensor || std_tensor) {
    require(!a.has(2), "normal: size is for numbers as mean and std; here the shape is that of the tensor");
    Tensor t = ops::normal(mean_tensor ? a.tensor(0) : Tensor(), std_tensor ? a.tensor(1) : Tensor(),
                           mean_tensor ? 0 : a.number(0), std_tensor ? 1 : a.number(1), g);
    if (a.has(4)) t = ops::cast(t, a.dtype(4));
    return finish(a, 4, std::move(t));
  }
  if (!a.has(2)) a.fail(2, "a tuple of ints where mean and std are numbers");
  const Tensor y = empty(a.dims(2), dtype_or(a, 4, default_dtype));
  return finish(a, 4, untracked(ops::normal_(y, a.number(0), a.number(1), g)));
}

// Seeds and the state of the default generator.
const Family generators({.kind = Kind::Random, .page = "creation"}, [] {
  init_generator();
  def<"manual_seed(int seed) -> Generator", [](Args& a) {
    default_generator().manual_seed(to_seed(a[0]));
    return incref(default_object);
  }>(kFunction | kTool, "Begins the stream of a seed, for all draws that name no generator.", {.page = "settings"});
  def<"seed() -> int", [](Args&) { return seed_anew(default_generator()); }>(
      kFunction | kTool, "Begins the stream of a seed from the system's entropy, and returns the seed.",
      {.page = "settings"});
  def<"initial_seed() -> int", [](Args&) { return PyLong_FromUnsignedLongLong(default_generator().seed); }>(
      kFunction | kTool, "The seed that the stream began with.", {.page = "settings"});
  def<"get_rng_state() -> Tensor", [](Args&) { return state_of(default_generator()); }>(
      kFunction | kTool, "The state of the default generator, a uint8 tensor.", {.page = "settings"});
  def<"set_rng_state(Tensor new_state) -> None", [](Args& a) {
    set_state("set_rng_state", default_generator(), a[0]);
    return incref(Py_None);
  }>(kFunction | kTool, "Goes back to a state that get_rng_state returned.", {.page = "settings"});

  // A position in the sequence of the default generator, to which draws may return. Unlike its state, it is not a value
  // that a function could keep, so a capture continues.
  def<"_rng_position() -> Any", [](Args&) {
    const Generator& g = default_generator();
    return Py_BuildValue("(KK)", static_cast<unsigned long long>(g.seed), static_cast<unsigned long long>(g.offset));
  }>(kFunction | kTool);
  def<"_rng_return(Any position) -> None", [](Args& a) {
    unsigned long long seed, offset;
    if (!PyArg_ParseTuple(a[0], "KK", &seed, &offset)) throw_python();
    default_generator().seed = seed;
    default_generator().offset = offset;
    return incref(Py_None);
  }>(kFunction | kTool);
});

// Random tensors by shape.
const Family new_tensors({.kind = Kind::Random, .page = "creation"}, [] {
  def<"rand(int *size, Generator? generator=None, DType? dtype=None, Device? device=None, bool requires_grad=False, "
      "float? low=None, float? high=None, Tensor? out=None) -> Tensor",
      [](Args& a) {
        Generator& g = generator(a, 1);
        const DType dtype = dtype_or(a, 2, default_dtype);
        if (!a.has(5) && !a.has(6)) return finish(a, 2, ops::rand(sizes(a, 0), dtype, g));
        const Tensor y = empty(sizes(a, 0), dtype);
        const double low = a.has(5) ? a.number(5) : 0, high = a.has(6) ? a.number(6) : 1;
        return finish(a, 2, untracked(ops::uniform_(y, low, high, g)));
      }>(kFunction, "Uniform random numbers from [low, high), which is [0, 1) unless given.");
  def<"randn(int *size, Generator? generator=None, DType? dtype=None, Device? device=None, bool requires_grad=False, "
      "float? mean=None, float? std=None, Tensor? out=None) -> Tensor",
      [](Args& a) {
        Generator& g = generator(a, 1);
        const DType dtype = dtype_or(a, 2, default_dtype);
        if (!a.has(5) && !a.has(6)) return finish(a, 2, ops::randn(sizes(a, 0), dtype, g));
        const Tensor y = empty(sizes(a, 0), dtype);
        const double mean = a.has(5) ? a.number(5) : 0, std = a.has(6) ? a.number(6) : 1;
        return finish(a, 2, untracked(ops::normal_(y, mean, std, g)));
      }>(kFunction, "Random numbers of the normal distribution, the standard one unless mean or std is given.");
  def<"randint(int low=0, int[]? high=None, int[]? size=None, *, Generator? generator=None, DType? dtype=None, Device? "
      "device=None, bool requires_grad=False, Tensor? out=None) -> Tensor",
      randint>(kFunction,
               "Random integers from low, or 0, to high - 1: randint(high, size) or randint(low, high, size).");
  def<"randperm(int n, *, Generator? generator=None, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, "
      "Tensor? out=None) -> Tensor",
      [](Args& a) { return finish(a, 2, ops::randperm(a.integer(0), dtype_or(a, 2, DType::Int64), generator(a, 1))); }>(
      kFunction, "A random permutation of 0 .. n - 1.");
  def<"rand_like(Tensor input, *, Generator? generator=None, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, MemoryFormat? memory_format=None) -> Tensor",
      [](Args& a) {
        const Tensor& x = a.tensor(0);
        return finish_like(a, 2, ops::rand(x.shape(), dtype_or(a, 2, x.dtype()), generator(a, 1)));
      }>(kFunction, "rand() in the shape and dtype of `input`.", {.takes = Takes::Complex});
  def<"randn_like(Tensor input, *, Generator? generator=None, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, MemoryFormat? memory_format=None) -> Tensor",
      [](Args& a) {
        const Tensor& x = a.tensor(0);
        return finish_like(a, 2, ops::randn(x.shape(), dtype_or(a, 2, x.dtype()), generator(a, 1)));
      }>(kFunction, "randn() in the shape and dtype of `input`.", {.takes = Takes::Complex});
  def<"randint_like(Tensor input, int low=0, int? high=None, *, Generator? generator=None, DType? dtype=None, "
      "Device? device=None, bool requires_grad=False, MemoryFormat? memory_format=None) -> Tensor",
      randint_like>(
      kFunction,
      "randint() in the shape and dtype of `input`: randint_like(input, high) or randint_like(input, low, high).");
});

// Draws with parameters in tensors.
const Family draws({.kind = Kind::Random, .page = "creation"}, [] {
  def<"normal(Operand mean=0.0, Operand std=1.0, int[]? size=None, *, Generator? generator=None, DType? "
      "dtype=None, "
      "Device? device=None, bool requires_grad=False, Tensor? out=None) -> Tensor",
      normal>(kFunction, "Normal random numbers; mean and std are numbers, with a size, or tensors.",
              {.takes = Takes::Complex});
  def<"bernoulli(Tensor input, float? p=None, *, Generator? generator=None, Tensor? out=None) -> Tensor", [](Args& a) {
    Generator& g = generator(a, 2);
    return a.has(1) ? ops::bernoulli(a.tensor(0), a.number(1), g) : ops::bernoulli(a.tensor(0), g);
  }>(kBoth, "1 with the probability that `input` holds (or p), else 0.");
  def<"multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None, Tensor? "
      "out=None) -> Tensor",
      [](Args& a) { return ops::multinomial(a.tensor(0), a.integer(1), a.boolean(2), generator(a, 3)); }>(
      kBoth, "Indices drawn with the weights in each row of `input`.");
  def<"poisson(Tensor input, Generator? generator=None) -> Tensor", [](Args& a) {
    return ops::poisson(a.tensor(0), generator(a, 1));
  }>(kFunction, "Poisson random numbers with the means that `input` holds.");
  def<"binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", [](Args& a) {
    return ops::binomial(a.tensor(0), a.tensor(1), generator(a, 2));
  }>(kFunction, "How many of `count` trials succeed, each with the probability `prob`.");
  def<"_standard_gamma(Tensor input, Generator? generator=None) -> Tensor", [](Args& a) {
    return ops::standard_gamma(a.tensor(0), generator(a, 1));
  }>(kFunction, "Gamma random numbers of scale 1 with the concentrations that `input` holds, differentiable by them.");
  def<"_standard_gamma_grad(Tensor input, Tensor output) -> Tensor", [](Args& a) {
    return ops::standard_gamma_grad(a.tensor(0), a.tensor(1));
  }>(kFunction, "The derivative of gamma random numbers by their concentration, at a fixed quantile.");
  def<"_log_standard_gamma(Tensor input, Generator? generator=None) -> Tensor", [](Args& a) {
    return ops::log_standard_gamma(a.tensor(0), generator(a, 1));
  }>(kFunction, "The logarithms of such numbers, which may be too small for the numbers themselves to be above 0.");
  def<"dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False, *, Generator? generator=None) -> "
      "Tensor",
      [](Args& a) {
        const double p = a.number(1);
        require(p >= 0 && p <= 1, "dropout: p must be between 0 and 1, got ", p);
        if (!a.boolean(2)) return a.tensor(0);
        Generator& g = generator(a, 4);
        return a.boolean(3) ? ops::dropout_(a.tensor(0), p, g) : ops::dropout(a.tensor(0), p, g);
      }>(kFunction, "In training, zeroes elements with probability p and scales the others by 1 / (1 - p).",
         {.takes = Takes::Complex, .page = "neural"});
});

// In-place fills.
const Family fills({.kind = Kind::Random, .page = "creation"}, [] {
  def<"uniform_(Tensor input, float from_=0.0, float to=1.0, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::uniform_(a.tensor(0), a.number(1), a.number(2), generator(a, 3));
  }>(kMethod, "Fills the tensor with uniform random numbers from [from_, to).", {.takes = Takes::Complex});
  def<"normal_(Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::normal_(a.tensor(0), a.number(1), a.number(2), generator(a, 3));
  }>(kMethod, "Fills the tensor with normal random numbers.", {.takes = Takes::Complex});
  def<"log_normal_(Tensor input, float mean=1.0, float std=2.0, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::log_normal_(a.tensor(0), a.number(1), a.number(2), generator(a, 3));
  }>(kMethod, "Fills the tensor with exp of normal random numbers.", {.flops = Flops::FiveInput});
  def<"exponential_(Tensor input, float lambd=1.0, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::exponential_(a.tensor(0), a.number(1), generator(a, 2));
  }>(kMethod, "Fills the tensor with exponential random numbers of rate lambd.");
  def<"cauchy_(Tensor input, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::cauchy_(a.tensor(0), a.number(1), a.number(2), generator(a, 3));
  }>(kMethod, "Fills the tensor with random numbers of the Cauchy distribution.");
  def<"geometric_(Tensor input, float p, *, Generator? generator=None) -> Self", [](Args& a) {
    return ops::geometric_(a.tensor(0), a.number(1), generator(a, 2));
  }>(kMethod, "Fills the tensor with numbers of trials up to the first success.");
  def<"bernoulli_(Tensor input, Operand p=0.5, *, Generator? generator=None) -> Self", [](Args& a) {
    Generator& g = generator(a, 2);
    return a[1] && is_tensor(a[1]) ? ops::bernoulli_(a.tensor(0), a.tensor(1), g)
                                   : ops::bernoulli_(a.tensor(0), a.number(1), g);
  }>(kMethod, "Fills the tensor with 1 with probability p, else 0; p is a number or a tensor.");
  def<"random_(Tensor input, int? from_=None, int? to=None, *, Generator? generator=None) -> Self",
      [](Args& a) {
        Generator& g = generator(a, 3);
        if (!a.has(1) && !a.has(2)) return ops::random_(a.tensor(0), g);
        // random_(to) or random_(from_, to)
        return a.has(2) ? ops::random_(a.tensor(0), a.integer(1, 0), a.integer(2), g)
                        : ops::random_(a.tensor(0), 0, a.integer(1), g);
      }>(kMethod,
         "Fills the tensor with random integers from from_, or 0, to `to` - 1; without bounds, from all it can hold.");
});

}  // namespace

}  // namespace genesis::py
