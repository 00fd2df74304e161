/* A QEMU plugin (API version 1) that counts executed guest instructions and prints "instructions N" on stderr at the end.
 * Debian's QEMU has plugins but ships no header for them: what this needs of its interface is declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
enum { kNoRegisters = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*translated)(qemu_plugin_id_t, void *block));
extern size_t qemu_plugin_tb_n_insns(const void *block);
extern void *qemu_plugin_tb_get_insn(const void *block, size_t index);
extern void qemu_plugin_register_vcpu_insn_exec_cb(void *instruction, void (*executed)(unsigned cpu, void *data), int registers,
                                                   void *data);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void *data), void *data);

int qemu_plugin_version = 1;

static uint64_t count;

static void executed(unsigned cpu, void *data) {
  (void)cpu;
  (void)data;
  ++count;
}

static void translated(qemu_plugin_id_t id, void *block) {
  (void)id;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(block, i), executed, kNoRegisters, NULL);
  }
}

static void ended(qemu_plugin_id_t id, void *data) {
  (void)id;
  (void)data;
  fprintf(stderr, "instructions %llu\n", (unsigned long long)count);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
