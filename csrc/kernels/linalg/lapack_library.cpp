#include "kernels/linalg/lapack_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <memory>
#include <string>

#include "core/error.h"
#include "kernels/linalg/lapack.h"

namespace genesis::kernels {

namespace {

#ifdef __APPLE__
constexpr const char* kLibrary = "/lib/libscipy_openblas.dylib";
#else
constexpr const char* kLibrary = "/lib/libscipy_openblas.so";
#endif

// The kernels to use on a processor with SME: OpenBLAS's for SME return wrong eigenvectors of complex matrices
// (0.3.34), those for SVE and NEON are correct. nullptr without SME.
const char* kernels_without_sme() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kSve = 1ul << 22, kSme = 1ul << 23;  // of AT_HWCAP and of AT_HWCAP2
  if (getauxval(AT_HWCAP2) & kSme) return getauxval(AT_HWCAP) & kSve ? "ARMV8SVE" : "ARMV8";
#elif defined(__aarch64__) && defined(__APPLE__)
  int sme = 0;
  size_t size = sizeof sme;
  if (sysctlbyname("hw.optional.arm.FEAT_SME", &sme, &size, nullptr, 0) == 0 && sme) return "NEOVERSEN1";  // as on M1
#endif
  return nullptr;
}

// Loads OpenBLAS, which selects its kernels while it is loaded.
void* open_library(const char* path) {
  const char* name = kernels_without_sme();
  const bool chosen = name && !getenv("OPENBLAS_CORETYPE") && setenv("OPENBLAS_CORETYPE", name, 0) == 0;
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (chosen) unsetenv("OPENBLAS_CORETYPE");  // do not affect other libraries
  return handle;
}

struct Library {
  Routines<float> single;
  Routines<double> wide;
  Routines<std::complex<float>> complex_single;
  Routines<std::complex<double>> complex_wide;

  Library() {
    Dl_info self;
    require<std::runtime_error>(dladdr(reinterpret_cast<const void*>(&require_lapack_size), &self) != 0,
                                "linalg: cannot find the folder of the genesis module");
    const std::unique_ptr<char, void (*)(void*)> real(realpath(self.dli_fname, nullptr), free);
    const std::string module = real ? real.get() : self.dli_fname;
    const std::string path = module.substr(0, module.rfind('/')) + kLibrary;
    handle_ = open_library(path.c_str());
    if (!handle_) {
      const char* reason = dlerror();
      fail<std::runtime_error>("linalg: cannot open the OpenBLAS that comes with genesis, ", path, ": ",
                               reason ? reason : "no reason given", "; reinstall genesis");
    }
    fill(single, 's');
    fill(wide, 'd');
    fill(complex_single, 'c');
    fill(complex_wide, 'z');
    // OpenBLAS uses one thread: we process the matrices of a stack in parallel, and results must not depend on the
    // number of threads.
    void (*set_threads)(int);
    find(set_threads, "scipy_openblas_set_num_threads");
    set_threads(1);
  }

 private:
  template <class F>
  void find(F& pointer, const std::string& name) {
    void* symbol = dlsym(handle_, name.c_str());
    require<std::runtime_error>(symbol != nullptr, "linalg: the OpenBLAS that comes with genesis has no ", name,
                                "; reinstall genesis");
    pointer = reinterpret_cast<F>(symbol);
  }
  template <class T>
  void fill(Routines<T>& r, char type) {
    const std::string prefix = std::string("scipy_") + type;
    find(r.getrf, prefix + "getrf_");
    find(r.getrs, prefix + "getrs_");
    find(r.getri, prefix + "getri_");
    find(r.potrf, prefix + "potrf_");
    find(r.sytrf, prefix + "sytrf_");
    find(r.sytrs, prefix + "sytrs_");
    find(r.hetrf, prefix + (kComplex<T> ? "hetrf_" : "sytrf_"));
    find(r.hetrs, prefix + (kComplex<T> ? "hetrs_" : "sytrs_"));
    find(r.trsm, prefix + "trsm_");
    find(r.geqrf, prefix + "geqrf_");
    find(r.orgqr, prefix + (kComplex<T> ? "ungqr_" : "orgqr_"));
    find(r.syevd, prefix + (kComplex<T> ? "heevd_" : "syevd_"));
    find(r.gesdd, prefix + "gesdd_");
    find(r.geev, prefix + "geev_");
  }
  void* handle_;
};

const Library& library() {
  static const Library opened;
  return opened;
}

}  // namespace

template <>
const Routines<float>& lapack() {
  return library().single;
}
template <>
const Routines<double>& lapack() {
  return library().wide;
}
template <>
const Routines<std::complex<float>>& lapack() {
  return library().complex_single;
}
template <>
const Routines<std::complex<double>>& lapack() {
  return library().complex_wide;
}

}  // namespace genesis::kernels
