#include "bindings/module.h"

#include "bindings/args.h"
#include "bindings/hooks.h"
#include "bindings/memory_format.h"
#include "bindings/size.h"

namespace genesis::py {

static PyObject* module_;

struct Member {
  void (*init)();
  Traits traits;
};
static std::vector<Member>& families() {
  static std::vector<Member> list;
  return list;
}
static Traits traits_of_family;
Family::Family(Traits traits, void (*init)()) { families().push_back({init, traits}); }
const Traits& family_traits() { return traits_of_family; }

PyObject* current_module() { return module_; }
PyObject* module_name() {
  static PyObject* name = PyUnicode_InternFromString("genesis");
  return name;
}

static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "_C",
                                 .m_doc = nullptr,
                                 .m_size = -1,
                                 .m_methods = nullptr,
                                 .m_slots = nullptr,
                                 .m_traverse = nullptr,
                                 .m_clear = nullptr,
                                 .m_free = nullptr};

}  // namespace genesis::py

PyMODINIT_FUNC PyInit__C() {
  using namespace genesis::py;
  return guarded([] {
    Object module(PyModule_Create(&definition));
    module_ = module.get();
    init_errors(module_);
    init_dtype(module_);
    init_device(module_);
    init_size(module_);
    init_memory_format(module_);
    init_node_type(module_);
    init_hooks(module_);
    init_tensor_type(module_);
    init_collector();
    for (const Member& family : families()) {
      traits_of_family = family.traits;
      family.init();
    }
    return module.release();
  });
}
