#include "engine/kernel/calls/fixed_machine.h"

#include <linux/utsname.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/kernel/calls/call_handlers.h"
#include "engine/kernel/guest_kernel.h"
#include "engine/memory/guest_access.h"

namespace zs::engine {
namespace {

using Content = std::string (*)(const RunSettings& settings, std::uint64_t now);

std::string cpu_list(const RunSettings& settings, std::uint64_t) {
  return settings.cpus == 1 ? "0\n" : "0-" + std::to_string(settings.cpus - 1) + "\n";
}

std::string kilobytes(const char* name, std::uint64_t bytes) {
  char line[64];
  std::snprintf(line, sizeof line, "%-16s%8llu kB\n", name, static_cast<unsigned long long>(bytes >> 10));
  return line;
}

std::string memory(const RunSettings&, std::uint64_t) {
  return kilobytes("MemTotal:", arch::kFixedMemory) + kilobytes("MemFree:", arch::kFixedMemory) +
         kilobytes("MemAvailable:", arch::kFixedMemory) + kilobytes("Buffers:", 0) + kilobytes("Cached:", 0) +
         kilobytes("SwapTotal:", 0) + kilobytes("SwapFree:", 0);
}

std::string processor_times(const RunSettings& settings, std::uint64_t) {
  const char* const kNone = " 0 0 0 0 0 0 0 0 0 0\n";
  std::string text = std::string("cpu ") + kNone;
  for (unsigned cpu = 0; cpu < settings.cpus; ++cpu) text += "cpu" + std::to_string(cpu) + kNone;
  return text + "intr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n";
}

std::string uptime(const RunSettings&, std::uint64_t now) {
  char line[64];
  std::snprintf(line, sizeof line, "%llu.%02llu 0.00\n", static_cast<unsigned long long>(now / 1'000'000'000),
                static_cast<unsigned long long>(now / 10'000'000 % 100));
  return line;
}

constexpr struct {
  std::string_view path;
  Content content;
} kFiles[] = {
    {"/proc/cpuinfo", [](const RunSettings& s, std::uint64_t) { return arch::cpuinfo_of(s.cpu_level, s.cpus); }},
    {"/proc/meminfo", memory},
    {"/proc/stat", processor_times},
    {"/proc/uptime", uptime},
    {"/proc/loadavg", [](const RunSettings&, std::uint64_t) { return std::string("0.00 0.00 0.00 1/1 1\n"); }},
    {"/proc/sys/kernel/osrelease",
     [](const RunSettings&, std::uint64_t) { return std::string(arch::kFixedRelease) + "\n"; }},
    {"/proc/sys/kernel/hostname",
     [](const RunSettings&, std::uint64_t) { return std::string(arch::kFixedName) + "\n"; }},
    {"/sys/devices/system/cpu/online", cpu_list},
    {"/sys/devices/system/cpu/possible", cpu_list},
    {"/sys/devices/system/cpu/present", cpu_list},
    {"/sys/fs/cgroup/cpu.max", [](const RunSettings&, std::uint64_t) { return std::string("max 100000\n"); }},
};

}  // namespace

std::optional<std::string> file_of_fixed_machine(std::string_view path, const RunSettings& settings,
                                                 std::uint64_t now) {
  const auto* const found = std::ranges::find(kFiles, path, [](const auto& file) { return file.path; });
  if (found == std::end(kFiles) || settings.cpu_level == arch::CpuLevel::Host) return std::nullopt;
  return found->content(settings, now);
}

bool ends_as_fixed_file(std::string_view path) {
  return std::ranges::any_of(kFiles, [&](const auto& file) { return file.path.ends_with(path); });
}

namespace calls {

// Any thread has all processors, whatever the thread has asked for: in virtual time it does not matter where it runs.
Outcome fixed_affinity(GuestKernel& kernel, const CallArguments& made) {
  std::vector<std::byte> mask(std::max<std::size_t>((kernel.run.config.cpus + 63) / 64 * 8, 8));
  for (unsigned cpu = 0; cpu < kernel.run.config.cpus; ++cpu) mask[cpu / 8] |= std::byte{1} << cpu % 8;
  const std::uint64_t bytes = static_cast<std::uint32_t>(made.a[1]);
  if (made.number == SYS_sched_getaffinity) {
    if (bytes < mask.size() || bytes % 8 != 0) return {-EINVAL};
    const bool written = kernel.memory.write(made.u(2), mask.data(), mask.size()) == mask.size();
    return {written ? static_cast<long>(mask.size()) : -EFAULT};
  }
  std::vector<std::byte> wanted(std::min<std::uint64_t>(bytes, mask.size()));
  if (kernel.memory.read(made.u(2), wanted.data(), wanted.size()) != wanted.size()) return {-EFAULT};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if ((wanted[i] & mask[i]) != std::byte{}) return {0};
  }
  return {-EINVAL};
}

Outcome uname(GuestKernel& kernel, const CallArguments& made) {
  if (kernel.run.config.cpu_level == arch::CpuLevel::Host) return {kernel.host.call(made)};
  new_utsname name{};
  const auto put = [](auto& field, const char* text) { std::strncpy(field, text, sizeof field - 1); };
  put(name.sysname, "Linux");
  put(name.nodename, arch::kFixedName);
  put(name.release, arch::kFixedRelease);
  put(name.version, "#1 SMP");
  put(name.machine, "x86_64");
  put(name.domainname, "(none)");
  return {kernel.memory.write(made.u(0), &name, sizeof name) == sizeof name ? 0 : -EFAULT};
}

}  // namespace calls
}  // namespace zs::engine
