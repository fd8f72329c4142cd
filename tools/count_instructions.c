// A plugin for qemu that counts the instructions that were executed and prints the number when the program asks for it, by the
// system call getpriority(PRIO_PROCESS, 0x67656e65). See tools/instructions. The declarations are those of qemu's interface,
// whose header Debian does not package.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t, void (*)(uint64_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                                                             uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));

EXPORT int qemu_plugin_version = 1;
static uint64_t count;

static void on_translation(UNUSED uint64_t id, struct qemu_plugin_tb *block) {
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0 /* add */, &count, qemu_plugin_tb_n_insns(block));
}

static void on_call(UNUSED uint64_t id, UNUSED unsigned cpu, UNUSED int64_t number, UNUSED uint64_t a1, uint64_t a2,
                    UNUSED uint64_t a3, UNUSED uint64_t a4, UNUSED uint64_t a5, UNUSED uint64_t a6, UNUSED uint64_t a7,
                    UNUSED uint64_t a8) {
  if (a2 == 0x67656e65) fprintf(stderr, "count %llu\n", (unsigned long long)count);
}

EXPORT int qemu_plugin_install(uint64_t id, UNUSED const void *info, UNUSED int argc, UNUSED char **argv) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_call);
  return 0;
}
