#include "profile/symbols/unwinder.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "arch/dwarf_registers.h"

namespace zs::profile {
namespace {

constexpr Dwfl_Callbacks kUnwinderCallbacks{.find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = dwfl_standard_find_debuginfo,
                                            .section_address = dwfl_offline_section_address,
                                            .debuginfo_path = nullptr};

}  // namespace

/// libdw's view of one process, made anew when its mappings have changed.
struct Unwinder::Process {
  std::uint64_t generation = 0;
  Dwfl* dwfl = nullptr;
  bool attached = false;
  std::int32_t pid = 0;

  // The sample being unwound.
  const AddressSpaces* spaces = nullptr;
  const session::Sample* sample = nullptr;
  Symbolizer* symbolizer = nullptr;
  std::size_t longest = 0;
  std::vector<std::uint64_t> chain;

  ~Process() { dwfl_end(dwfl); }

  void report_modules(const AddressSpaces& from, Symbolizer& with);
  void attach();
  bool read_memory(std::uint64_t address, Dwarf_Word& word) const;

  static pid_t next_thread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return static_cast<Process*>(self)->pid;
  }
  static bool memory_read(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
    return static_cast<Process*>(self)->read_memory(address, *word);
  }
  static bool set_initial_registers(Dwfl_Thread* thread, void* self) {
    const arch::DwarfRegisters from = arch::dwarf_registers(static_cast<Process*>(self)->sample->registers);
    Dwarf_Word registers[arch::kDwarfRegisters];
    std::copy(from.begin(), from.end(), registers);
    return dwfl_thread_state_registers(thread, 0, arch::kDwarfRegisters, registers);
  }
  static int take_frame(Dwfl_Frame* frame, void* self) {
    auto& process = *static_cast<Process*>(self);
    Dwarf_Addr pc = 0;
    bool activation = false;
    if (!dwfl_frame_pc(frame, &pc, &activation) || pc == 0) return DWARF_CB_ABORT;
    process.chain.push_back(activation || process.chain.empty() ? pc : pc - 1);
    return process.chain.size() < process.longest ? DWARF_CB_OK : DWARF_CB_ABORT;
  }
};

void Unwinder::Process::report_modules(const AddressSpaces& from, Symbolizer& with) {
  dwfl_end(dwfl);
  attached = false;
  dwfl = dwfl_begin(&kUnwinderCallbacks);
  dwfl_report_begin(dwfl);
  std::map<std::pair<const Dso*, std::uint64_t>, bool> reported;
  from.for_each_mapping(pid, [&](const Mapping& mapping) {
    if ((mapping.protection & PROT_EXEC) == 0) return;
    Dso* dso = with.dso_of(*mapping.image);
    if (dso->image == nullptr || dso->path.starts_with('[')) return;
    const auto image_address = dso->image->image_address_of(FileOffset{mapping.file_offset});
    if (!image_address) return;
    const std::uint64_t base = mapping.start - value(*image_address);
    if (!reported.try_emplace({dso, base}, true).second) return;
    const int fd = open(dso->image->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && dwfl_report_elf(dwfl, dso->path.c_str(), dso->image->path().c_str(), fd, base, false) == nullptr) {
      close(fd);
    }
  });
  dwfl_report_end(dwfl, nullptr, nullptr);
}

/// Needs a module: without one, libdw does not know what machine it is for.
void Unwinder::Process::attach() {
  static constexpr Dwfl_Thread_Callbacks callbacks{.next_thread = next_thread,
                                                   .get_thread = nullptr,
                                                   .memory_read = memory_read,
                                                   .set_initial_registers = set_initial_registers,
                                                   .detach = nullptr,
                                                   .thread_detach = nullptr};
  if (!attached) attached = dwfl_attach_state(dwfl, nullptr, pid, &callbacks, this);
}

bool Unwinder::Process::read_memory(std::uint64_t address, Dwarf_Word& word) const {
  const std::uint64_t into = address - sample->registers.sp;
  if (address >= sample->registers.sp && into < sample->user_stack.size()) {
    if (sample->user_stack.size() - into < sizeof word) return false;
    std::memcpy(&word, sample->user_stack.data() + into, sizeof word);
    return true;
  }
  // Elsewhere only what files hold unchanged is known.
  const Location location = symbolizer->locate(*spaces, pid, address);
  if (location.dso == nullptr || location.dso->image == nullptr) return false;
  const Bytes bytes = location.dso->image->code(location.image_address, sizeof word);
  if (bytes.size() < sizeof word) return false;
  std::memcpy(&word, bytes.data(), sizeof word);
  return true;
}

Unwinder::Unwinder(Symbolizer& symbolizer) : symbolizer_(symbolizer) {}
Unwinder::~Unwinder() = default;

std::vector<std::uint64_t> Unwinder::unwind(const AddressSpaces& spaces, const session::Sample& sample,
                                            std::size_t longest) {
  if (!sample.has_registers || longest == 0) return {};
  std::unique_ptr<Process>& process = processes_[sample.pid];
  if (!process) {
    process = std::make_unique<Process>();
    process->pid = sample.pid;
  }
  const std::uint64_t generation = spaces.generation(sample.pid);
  if (process->dwfl == nullptr || process->generation != generation) {
    process->report_modules(spaces, symbolizer_);
    process->generation = generation;
  }
  process->spaces = &spaces;
  process->sample = &sample;
  process->symbolizer = &symbolizer_;
  process->longest = longest;
  process->chain.clear();
  process->attach();
  if (process->attached) dwfl_getthread_frames(process->dwfl, sample.pid, Process::take_frame, process.get());
  if (process->chain.empty()) process->chain.push_back(sample.registers.ip);
  return std::move(process->chain);
}

}  // namespace zs::profile
