// load_program(): maps what was planned and lays out the stack.
// source: Linux, fs/binfmt_elf.c, load_elf_binary(), elf_load() and create_elf_tables().
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/auxiliary_vector.h"
#include "base/bytes.h"
#include "engine/loader/program.h"
#include "engine/memory/guest_access.h"
#include "engine/memory/populate.h"
#include "engine/memory/real_maps.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

constexpr std::uint64_t kAtMinSigStackSize = 51;  // AT_MINSIGSTKSZ; not in every elf.h
/// AT_RSEQ_FEATURE_SIZE and AT_RSEQ_ALIGN: what kernel/threads/restartable_sequences.h has, as Linux 6.3 and later.
constexpr std::uint64_t kAtRseqFeatureSize = 27, kRseqFeatureBytes = 28, kAtRseqAlign = 28, kRseqAlignment = 32;
constexpr std::size_t kCommBytes = 15;

/// The bytes behind the file part of a segment up to the page's end: zero, as ld.so's first malloc relies on.
bool zero_to_page_end(std::uint64_t from) {
  static constexpr char kZeros[kPageSize] = {};
  const std::uint64_t bytes = page_up(from) - from;
  return write_guest(from, kZeros, bytes) == bytes;
}

Error cannot_map(const OpenedImage& image, AddressRange range, long error) {
  const char* why = std::strerror(static_cast<int>(-error));
  if (error == -EEXIST || error == -ENOMEM) why = "the place is taken or memory is short";
  if (error == -EPERM) why = "the place is below vm.mmap_min_addr, or the file system is mounted noexec";
  return {.message =
              image.path + ": cannot map its segment at [" + hex(range.start) + ", " + hex(range.end) + "): " + why};
}

Result<void> map_segment(const OpenedImage& image, const ElfSegment& segment, std::uint64_t bias, GuestMap& map) {
  const std::uint64_t start = segment.address + bias;
  const std::uint64_t file_end = start + segment.file_bytes, memory_end = start + segment.memory_bytes;
  std::uint64_t mapped_end = page_down(start);
  const auto map_fixed = [&](AddressRange range, int prot, int flags, int fd, std::uint64_t offset) -> Result<void> {
    // Segments may share a page; the later one wins, as in the kernel.
    const long result = map.mmap(range.start, range.size(), prot, flags | MAP_PRIVATE | MAP_FIXED, fd, offset);
    if (is_error(result)) return cannot_map(image, range, result);
    return {};
  };
  if (segment.file_bytes != 0) {
    const AddressRange range{page_down(start), page_up(file_end)};
    auto mapped = map_fixed(range, segment.prot, 0, image.fd.get(), page_down(segment.file_offset));
    if (!mapped) return mapped;
    mapped_end = range.end;
    const bool writable = (segment.prot & PROT_WRITE) != 0;
    if (segment.memory_bytes > segment.file_bytes && writable && !zero_to_page_end(file_end)) {
      return cannot_map(image, range, -EFAULT);
    }
  }
  if (page_up(memory_end) > mapped_end) {
    const AddressRange range{mapped_end, page_up(memory_end)};
    return map_fixed(range, PROT_READ | PROT_WRITE | (segment.prot & PROT_EXEC), MAP_ANONYMOUS, -1, 0);
  }
  return {};
}

/// Returns the bias: run-time address minus address in the file.
Result<std::uint64_t> map_image(const OpenedImage& image, GuestMap& map) {
  std::uint64_t bias = 0;
  if (image.elf.position_independent) {
    const auto base = map.find_low(image.elf.extent.size(), image.elf.alignment);
    if (!base) return cannot_map(image, image.elf.extent, -ENOMEM);
    bias = *base - image.elf.extent.start;
  }
  for (const ElfSegment& segment : image.elf.segments) {
    if (auto mapped = map_segment(image, segment, bias, map); !mapped) return mapped.error();
  }
  return bias;
}

/// AT_RANDOM: 16 bytes that depend on the seed only (splitmix64).
void fill_random(std::uint64_t seed, std::uint64_t out[2]) {
  for (int i = 0; i < 2; ++i) {
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    out[i] = z ^ (z >> 31);
  }
}

std::uint64_t show_vdso(GuestMap& map) {
  std::uint64_t base = 0;
  for (const RealMapping& real : read_real_maps()) {
    if (real.path == "[vdso]") {
      map.adopt(real.range(), static_cast<int>(real.prot), MapKind::Vdso);
      base = real.start;
    } else if (real.path.starts_with("[vvar")) {
      map.adopt(real.range(), static_cast<int>(real.prot), MapKind::Vvar);
    }
  }
  return base;
}

/// Strings are appended to the argument area, pointers to the arrays below it.
class StackWriter {
 public:
  explicit StackWriter(const Layout& layout) : next_(layout.argument_strings()), end_(layout.stack.end) {}

  /// The address of a copy; 0 if the area is full.
  std::uint64_t put(const void* bytes, std::size_t count) {
    if (count > end_ - next_) full_ = true;
    if (full_) return 0;
    const std::uint64_t at = next_;
    std::memcpy(reinterpret_cast<void*>(at), bytes, count);
    next_ += count;
    return at;
  }
  std::uint64_t put(const std::string& text) { return put(text.c_str(), text.size() + 1); }
  std::uint64_t next() const { return next_; }
  bool full() const { return full_; }

 private:
  std::uint64_t next_, end_;
  bool full_ = false;
};

std::string joined(const std::vector<std::string>& strings) {
  std::string all;
  for (const std::string& each : strings) all.append(each).push_back('\0');
  return all;
}

/// argc, argv, envp and the auxiliary vector at the initial stack pointer; what they point to above.
Result<void> write_stack(const ProgramPlan& plan, LoadedProgram& program, std::uint64_t vdso, const Layout& layout) {
  StackWriter writer(layout);
  std::uint64_t random[2];
  fill_random(plan.seed, random);
  const std::uint64_t random_at = writer.put(random, sizeof random);
  const auto ours = [](std::uint64_t type) { return auxiliary_here(type).value_or(0); };
  const bool is_host = plan.cpu_level == arch::CpuLevel::Host;
  const auto* platform = is_host ? reinterpret_cast<const char*>(ours(AT_PLATFORM)) : nullptr;
  const std::uint64_t platform_at = writer.put(std::string(platform != nullptr ? platform : "x86_64"));
  const std::uint64_t name_at = writer.put(plan.exec_name);

  std::vector<std::uint64_t> words;
  words.push_back(plan.argv.size());
  program.arguments.start = writer.next();
  for (const std::string& each : plan.argv) words.push_back(writer.put(each));
  words.push_back(0);
  program.arguments.end = program.environment.start = writer.next();
  for (const std::string& each : plan.envp) words.push_back(writer.put(each));
  words.push_back(0);
  program.environment.end = writer.next();

  const std::size_t auxv_begins = words.size();
  const auto entry = [&](std::uint64_t type, std::uint64_t value) { words.insert(words.end(), {type, value}); };
  if (vdso != 0) entry(AT_SYSINFO_EHDR, vdso);
  const std::uint64_t frame_bytes = is_host ? ours(kAtMinSigStackSize) : arch::signal_frame_bytes(plan.cpu_level);
  if (frame_bytes != 0) entry(kAtMinSigStackSize, frame_bytes);
  entry(AT_HWCAP, is_host ? ours(AT_HWCAP) : arch::cpuid_of(plan.cpu_level, 1, 1, 0).edx);
  entry(AT_PAGESZ, kPageSize);
  entry(AT_CLKTCK, ours(AT_CLKTCK));
  entry(AT_PHDR, program.program_headers);
  entry(AT_PHENT, sizeof(Elf64_Phdr));
  entry(AT_PHNUM, plan.program.elf.program_header_count);
  entry(AT_BASE, plan.interpreter.empty() ? 0 : program.interpreter_bias);
  entry(AT_FLAGS, 0);
  entry(AT_ENTRY, program.program_entry);
  entry(AT_UID, ours(AT_UID));
  entry(AT_EUID, ours(AT_EUID));
  entry(AT_GID, ours(AT_GID));
  entry(AT_EGID, ours(AT_EGID));
  entry(AT_SECURE, 0);
  entry(AT_RANDOM, random_at);
  if (const auto second = is_host ? auxiliary_here(AT_HWCAP2) : 0) entry(AT_HWCAP2, *second);
  entry(AT_EXECFN, name_at);
  entry(AT_PLATFORM, platform_at);
  entry(kAtRseqFeatureSize, kRseqFeatureBytes);
  entry(kAtRseqAlign, kRseqAlignment);
  entry(AT_NULL, 0);

  const std::uint64_t bytes = words.size() * sizeof(std::uint64_t);
  if (writer.full() || program.stack_pointer + bytes > layout.argument_strings()) {
    return Error{.message = plan.program.path + ": arguments and environment need more than 8 MiB"};
  }
  std::memcpy(reinterpret_cast<void*>(program.stack_pointer), words.data(), bytes);
  program.auxv.assign(reinterpret_cast<const char*>(words.data() + auxv_begins),
                      (words.size() - auxv_begins) * sizeof(std::uint64_t));
  return {};
}

}  // namespace

Result<LoadedProgram> load_program(const ProgramPlan& plan, GuestMap& map, int& exit_status) {
  exit_status = 126;
  LoadedProgram program;
  const ElfImage& elf = plan.program.elf;

  const auto bias = map_image(plan.program, map);
  if (!bias) return bias.error();
  program.program_bias = *bias;
  program.program_entry = elf.entry + *bias;
  if (elf.program_header_address != 0) program.program_headers = elf.program_header_address + *bias;
  program.entry = program.program_entry;

  for (const OpenedImage& interpreter : plan.interpreter) {
    const auto interpreter_bias = map_image(interpreter, map);
    if (!interpreter_bias) return interpreter_bias.error();
    program.interpreter_bias = *interpreter_bias;
    program.interpreter_path = interpreter.path;
    program.entry = interpreter.elf.entry + *interpreter_bias;
  }

  rlimit limit{std::uint64_t{8} << 20, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit);
  program.executable_stack = elf.executable_stack;
  if (const long result = map.map_stack(limit.rlim_cur, elf.executable_stack); is_error(result)) {
    return Error{.message = plan.program.path + ": cannot map its stack of " + std::to_string(limit.rlim_cur) +
                            " bytes below " + hex(map.layout().stack_top()) + ": " +
                            std::strerror(static_cast<int>(-result)),
                 .hint = "ulimit -s sets its size"};
  }
  map.set_brk_start(map.layout().heap.start);
  program.brk_start = map.brk_start();
  program.stack_pointer = map.layout().initial_stack_pointer();
  const std::uint64_t vdso = plan.vdso ? show_vdso(map) : 0;
  constexpr std::uint64_t kUsedSoon = 4 * kPageSize;  // of the stack
  populate({program.stack_pointer - kUsedSoon, program.stack_pointer + 1}, Populate::ForWriting);
  if (auto written = write_stack(plan, program, vdso, map.layout()); !written) return written.error();

  program.exe_path = path_of_descriptor(plan.program.fd.get());
  if (program.exe_path.empty()) program.exe_path = plan.program.path;
  program.comm = plan.exec_name.substr(plan.exec_name.rfind('/') + 1).substr(0, kCommBytes);
  program.argv = plan.argv;
  program.envp = plan.envp;
  program.cmdline = joined(plan.argv);
  program.environ = joined(plan.envp);
  map.mappings().for_each([&](const GuestMapping& mapping) { program.mappings.push_back(mapping); });
  return program;
}

Result<LoadedProgram> load_program(const ProgramConfig& config, GuestMap& map, int& exit_status) {
  const auto plan = plan_program(config, exit_status);
  if (!plan) return plan.error();
  return load_program(*plan, map, exit_status);
}

}  // namespace zs::engine
