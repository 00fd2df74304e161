#include "cli/perf_events/running.h"

#include <sys/mman.h>

#include <algorithm>
#include <set>
#include <string>

#include "host/running_processes.h"
#include "profile/symbols/kernel_symbols.h"

namespace zs::cli {
namespace {

/// At time 0: before everything that the kernel tells.
Result<void> tell_process(const host::RunningProcess& process, bool data_too, profile::PerfDataWriter& writer) {
  for (const host::RunningThread& thread : process.threads) {
    const bool first = thread.tid == process.pid;
    const profile::Fork fork{.pid = process.pid,
                             .parent_pid = first ? process.parent : process.pid,
                             .tid = thread.tid,
                             .parent_tid = first ? process.parent : process.pid};
    if (auto told = writer.fork(fork); !told) return told;
    if (auto told = writer.comm({.pid = process.pid, .tid = thread.tid, .name = thread.name}); !told) return told;
  }
  for (const host::RunningMapping& mapping : process.mappings) {
    if (!data_too && (mapping.protection & PROT_EXEC) == 0) continue;
    const profile::Mmap mmap{.pid = process.pid,
                             .tid = process.pid,
                             .start = mapping.start,
                             .length = mapping.end - mapping.start,
                             .file_offset = mapping.file_offset,
                             .protection = mapping.protection,
                             .flags = static_cast<std::uint32_t>(mapping.shared ? MAP_SHARED : MAP_PRIVATE),
                             .device_major = mapping.device_major,
                             .device_minor = mapping.device_minor,
                             .inode = mapping.inode,
                             .build_id = std::nullopt,
                             .path = mapping.path.empty() ? "//anon" : mapping.path};
    if (auto told = writer.mmap(mmap); !told) return told;
  }
  return {};
}

}  // namespace

Result<void> tell_kernel(const PerfEventsChoice& choice, profile::PerfDataWriter& writer) {
  const bool in_the_kernel =
      std::ranges::any_of(choice.events, [](const host::KernelEvent& event) { return event.attr.exclude_kernel == 0; });
  if (!in_the_kernel) return {};
  const profile::KernelIdentity kernel = profile::running_kernel();
  std::string problem;
  const std::string symbols = profile::kallsyms_of(kernel, problem);
  const std::uint64_t start = profile::address_in_kallsyms(symbols, "_text");
  const std::uint64_t end = profile::address_in_kallsyms(symbols, "_etext");
  if (start == 0 || end <= start) return {};
  return writer.mmap({.pid = -1,
                      .tid = 0,
                      .start = start,
                      .length = end - start,
                      .file_offset = start,
                      .protection = PROT_READ | PROT_EXEC,
                      .flags = MAP_PRIVATE,
                      .build_id = kernel.build_id,
                      .path = "[kernel.kallsyms]_text"});
}

Result<void> tell_what_runs(const PerfEventsChoice& choice, bool data_too, profile::PerfDataWriter& writer) {
  std::set<pid_t> pids(choice.targets.processes.begin(), choice.targets.processes.end());
  for (const pid_t thread : choice.targets.threads) {
    if (const auto process = host::process_of(thread)) pids.insert(*process);
  }
  if (choice.targets.is_system()) {
    for (const pid_t pid : host::all_processes()) pids.insert(pid);
  }
  for (const pid_t pid : pids) {
    const auto process = host::look_at_process(pid);
    if (!process) continue;  // it has ended meanwhile
    if (auto told = tell_process(*process, data_too, writer); !told) return told;
  }
  return {};
}

}  // namespace zs::cli
