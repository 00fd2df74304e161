// The interpreter's state and the few functions that are on every instruction's path. What the state means is here;
// each group of functions lives in the file named above it.
//
// Invariants at an instruction boundary: regs[kIp] is the next instruction; views, masks, mode and cpl follow from
// segments, CR0, CR4, EFER and flags (refresh_mode); TLB entries allow what the page tables allowed when they were
// walked.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "machine/vcpu/cpu_state.h"
#include "machine/vcpu/decoded_page.h"
#include "machine/vcpu/fault.h"
#include "machine/vcpu/flags.h"
#include "machine/vcpu/host_x87.h"
#include "machine/vcpu/insn.h"
#include "machine/vcpu/monitor.h"
#include "machine/vcpu/tlb.h"
#include "machine/vcpu/vcpu.h"

namespace zs::machine::vcpu {

enum class AccessKind : std::uint8_t { Read, Write, Fetch };

namespace cr0 {
inline constexpr std::uint64_t pe = 1, mp = 2, em = 4, ts = 8, et = 16, ne = 32, wp = 1u << 16, am = 1u << 18;
inline constexpr std::uint64_t nw = 1u << 29, cd = 1u << 30, pg = 1u << 31;
}  // namespace cr0
namespace cr4 {
inline constexpr std::uint64_t tsd = 4, de = 8, pse = 16, pae = 32, mce = 64, pge = 128, pce = 256;
inline constexpr std::uint64_t osfxsr = 512, osxmmexcpt = 1024, umip = 2048, fsgsbase = 1u << 16;
inline constexpr std::uint64_t smep = 1u << 20, smap = 1u << 21;
}  // namespace cr4
namespace efer {
inline constexpr std::uint64_t sce = 1, lme = 1u << 8, lma = 1u << 10, nxe = 1u << 11;
}

/// What a load or store through a segment needs: its base, and the last address it may touch (signed: -1 for "ask the
/// slow path", which knows expand-down segments, null selectors and faults). 64-bit mode has no limits.
struct SegmentView {
  std::uint64_t base = 0;
  std::int64_t last_read = -1, last_write = -1;
};

/// What a stack or data segment register holds after a null selector was loaded in protected mode: the selector and
/// DPL, and no segment that is present. The selector itself tells nothing: what real mode loaded with 0 may be used.
Segment null_segment(std::uint16_t selector, unsigned dpl = 0);
/// What a segment register holds in virtual-8086 mode.
Segment virtual8086_segment(std::uint16_t selector);

/// Registers, flags, countdown: first in memory.
struct HotState {
  std::array<std::uint64_t, 18> regs{};  // general; [kNoRegister] = 0; [kIp]
  std::uint64_t next_ip = 0;             // of the instruction that executes; handlers of branches change it
  Status status = 0x200;
  bool taken = false;         // set by a conditional branch that is
  std::int64_t left = 0;      // instructions until something must be looked at
  std::uint64_t planned = 0;  // retired() = planned - left
  std::uint64_t ip_mask = 0xFFFF, stack_mask = 0xFFFF, stack_keep = ~std::uint64_t{0xFFFF};
  std::uint64_t linear_mask = 0xFFFFFFFF;                // of addresses that an instruction forms
  std::uint64_t target_first = 0, target_span = 0xFFFF;  // ip - target_first <= target_span: a branch may go there
  TlbEntry* tlb = nullptr;  // what fast accesses look into: user, supervisor, or never_hits while accesses are watched
  std::array<SegmentView, 6> views{};
  struct {
    DecodedPage* page = nullptr;
    std::uint64_t first_ip = 0, bytes = 0;  // ip - first_ip < bytes: the instruction begins in `page`
  } code;
};

struct Core : HotState, SystemState {
  Core(const Vcpu::Around& around, Vcpu& facade);

  // ---- the rest of the architectural state
  std::uint64_t system_flags = 2;  // RFLAGS without the six arithmetic flags
  std::array<std::uint64_t, 4> pdptes{};
  std::uint64_t debugctl = 0;
  FxImage fx;  // x87 and MMX

  // ---- derived
  Mode mode = Mode::Real16;
  unsigned cpl = 0;
  bool protected_mode = false, long_mode = false, code64 = false, virtual8086 = false;
  bool nx_enabled = false;
  std::uint64_t system_mask = 0xFFFFFFFF;  // of system structures: whole in IA-32e mode, whatever CS says

  // ---- between instructions
  bool interrupt_line = false, nmi_pending = false, smi_pending = false, init_pending = false, mce_pending = false;
  bool shadow = false;  // STI, MOV SS, POP SS: no interrupt after the next instruction begins
  bool shadow_blocks_traps = false;
  bool suspended = false;     // a REP stopped between iterations: not retired, ip stays
  bool branched = false;      // the last instruction moved control (for BTF)
  bool swallow_trap = false;  // TF from before it does not trap: INT n and its kin stored it, SYSCALL masked it
  bool stop_requested = false, watch_stale = false;
  std::uint64_t pending_dr6 = 0;  // data breakpoints hit, BS, GD: #DB is due
  bool ds_fault_pending = false;
  Fault ds_fault{};
  std::uint64_t ds_fault_address = 0;
  CpuState smm_saved;
  Stop stop{};
  bool stopping = false;

  // ---- observation
  Watch watch;
  bool noting = false;  // accesses go into `accesses`
  std::array<MemoryAccess, 8> accesses{};
  unsigned access_count = 0;
  std::uint64_t rep_elements = 0;
  bool single_elements = false;      // a repeated string instruction looks up after each element
  std::vector<arch::Retired> facts;  // two rows a kind: not taken, taken
  std::unordered_map<std::uint64_t, std::uint16_t> fact_rows;
  std::vector<std::uint64_t> tally;
  std::vector<Tally> report_rows;
  std::uint64_t reported = 0;  // retirements told to counted()
  std::uint64_t watch_until = 0;
  std::uint64_t fruitless = 0;  // rounds of the run loop that count like instructions though nothing retired
  unsigned watched_cpl = 0;

  Monitor monitor{*this};
  NotOffered not_offered;

  // ---- memory
  Bus& bus;
  InterruptSource& interrupts;
  MsrFile& msrs;
  Cpuid& cpuid;
  RetirementObserver& observer;
  Vcpu& facade;
  std::unique_ptr<Tlbs> tlbs;
  TlbEntry* walked_tlb = nullptr;  // user or supervisor, whatever is watched
  DecodedPages decoded;
  std::array<Insn, 2> scratch;  // an instruction that crosses a page, decoded each time, and none behind it
  std::uint64_t physical_mask = 0;
  bool has_1g_pages = false, has_nx = false;

  // ================================================================================================ small things
  std::uint64_t retired() const { return planned - static_cast<std::uint64_t>(left); }
  /// Ends the fast loop after the current instruction.
  void arm() {
    if (left > 1) {
      planned -= static_cast<std::uint64_t>(left - 1);
      left = 1;
    }
  }

  /// What is looked at behind the current instruction.
  void set_due(bool Core::*event) {
    this->*event = true;
    arm();
  }

  template <typename T>
  T reg(unsigned offset) const {
    T value;
    std::memcpy(&value, reinterpret_cast<const char*>(regs.data()) + offset, sizeof value);
    return value;
  }
  /// 32-bit results clear the upper half, as in 64-bit mode; in other modes nobody can see it.
  template <typename T>
  void set_reg(unsigned offset, T value) {
    if constexpr (sizeof(T) == 4) {
      const std::uint64_t wide = static_cast<std::uint32_t>(value);
      std::memcpy(reinterpret_cast<char*>(regs.data()) + offset, &wide, sizeof wide);
    } else {
      std::memcpy(reinterpret_cast<char*>(regs.data()) + offset, &value, sizeof value);
    }
  }

  std::uint64_t effective_address(const Insn& insn) const {
    const std::uint64_t sum = regs[insn.base] + (regs[insn.index] << insn.scale) + insn.disp;
    return sum << insn.address_shift >> insn.address_shift;
  }

  std::uint64_t rflags() const { return system_flags | to_flags(status); }
  void set_rflags(std::uint64_t value) {
    status = to_status(value);
    system_flags = (value & ~flag::arithmetic) | 2;
  }
  /// Whether selectors are paragraphs and not indices of descriptors.
  bool real_addressing() const { return !protected_mode || virtual8086; }
  unsigned iopl() const { return static_cast<unsigned>(system_flags >> 12 & 3); }

  // ================================================================================================ memory.cc
  template <typename T>
  T load(unsigned segment, std::uint64_t address) {
    const SegmentView& view = views[segment];
    if (static_cast<std::int64_t>(address) <= view.last_read - static_cast<std::int64_t>(sizeof(T) - 1)) [[likely]] {
      const std::uint64_t linear = (view.base + address) & linear_mask;
      const TlbEntry& entry = tlb[tlb_slot(linear)];
      if (entry.read_tag == ((linear + sizeof(T) - 1) & kPageMask)) [[likely]] {
        T value;
        std::memcpy(&value, reinterpret_cast<const void*>(entry.addend + linear), sizeof value);
        return value;
      }
    }
    return static_cast<T>(load_slow(segment, address, sizeof(T)));
  }
  template <typename T>
  void store(unsigned segment, std::uint64_t address, T value) {
    if (void* place = fast_store_place(segment, address, sizeof(T))) [[likely]] {
      std::memcpy(place, &value, sizeof value);
      return;
    }
    store_slow(segment, address, sizeof(T), value);
  }
  /// Where a store of so many bytes goes, if nothing needs looking at; else nullptr.
  void* fast_store_place(unsigned segment, std::uint64_t address, unsigned bytes) const {
    const SegmentView& view = views[segment];
    if (static_cast<std::int64_t>(address) <= view.last_write - static_cast<std::int64_t>(bytes - 1)) [[likely]] {
      const std::uint64_t linear = (view.base + address) & linear_mask;
      const TlbEntry& entry = tlb[tlb_slot(linear)];
      if (entry.write_tag == ((linear + bytes - 1) & kPageMask)) [[likely]]
        return reinterpret_cast<void*>(entry.addend + linear);
    }
    return nullptr;
  }
  const void* fast_load_place(unsigned segment, std::uint64_t address, unsigned bytes) const {
    const SegmentView& view = views[segment];
    if (static_cast<std::int64_t>(address) > view.last_read - static_cast<std::int64_t>(bytes - 1)) return nullptr;
    const std::uint64_t linear = (view.base + address) & linear_mask;
    const TlbEntry& entry = tlb[tlb_slot(linear)];
    if (entry.read_tag != ((linear + bytes - 1) & kPageMask)) return nullptr;
    return reinterpret_cast<const void*>(entry.addend + linear);
  }
  /// Read-modify-write: the store cannot fault any more once `change` runs.
  template <typename T, typename Change>
  void modify(unsigned segment, std::uint64_t address, Change change) {
    if (void* place = fast_store_place(segment, address, sizeof(T))) [[likely]] {
      T value;
      std::memcpy(&value, place, sizeof value);
      value = change(value);
      std::memcpy(place, &value, sizeof value);
      return;
    }
    probe_store(segment, address, sizeof(T));
    const T value = static_cast<T>(load_slow(segment, address, sizeof(T)));
    store_slow(segment, address, sizeof(T), change(value));
  }
  std::uint64_t load_slow(unsigned segment, std::uint64_t address, unsigned bytes);
  void store_slow(unsigned segment, std::uint64_t address, unsigned bytes, std::uint64_t value);
  /// Faults as a store there would; afterwards the store does not.
  void probe_store(unsigned segment, std::uint64_t address, unsigned bytes);
  /// Any size; one access to the observer.
  void load_bytes(unsigned segment, std::uint64_t address, void* into, unsigned bytes);
  void store_bytes(unsigned segment, std::uint64_t address, const void* from, unsigned bytes);
  /// Checks segment and canonical form. returns the linear address
  std::uint64_t checked_linear(unsigned segment, std::uint64_t address, unsigned bytes, bool write);
  void note_access(std::uint64_t linear, unsigned bytes, bool write);
  void tell_lines(std::uint64_t linear, unsigned bytes, bool write);
  /// The processor's own accesses to tables and frames: linear addresses of 64 bits in IA-32e mode, compatibility mode
  /// included, and of 32 bits elsewhere; rights of CPL 0 unless `user`.
  std::uint64_t load_system(std::uint64_t linear, unsigned bytes, bool user = false);
  void store_system(std::uint64_t linear, unsigned bytes, std::uint64_t value, bool user = false);
  void probe_system_store(std::uint64_t linear, unsigned bytes, bool user = false);
  void probe_linear_store(std::uint64_t linear, unsigned bytes, bool user, std::uint64_t mask);
  /// mask  linear_mask or system_mask: where the address space of this access wraps round
  template <typename Part>
  void each_page(std::uint64_t linear, unsigned bytes, AccessKind kind, bool user, std::uint64_t mask, Part part);
  void linear_read(std::uint64_t linear, void* into, unsigned bytes, bool user, std::uint64_t mask);
  void linear_write(std::uint64_t linear, const void* from, unsigned bytes, bool user, std::uint64_t mask);
  void physical_read(std::uint64_t physical, void* into, unsigned bytes);
  void physical_write(std::uint64_t physical, const void* from, unsigned bytes);
  std::uint64_t physical_load(std::uint64_t physical, unsigned bytes);
  void physical_store(std::uint64_t physical, unsigned bytes, std::uint64_t value);

  // ================================================================================================ paging.cc
  /// Entry for the page of `linear`, walked if need be; throws #PF.
  TlbEntry& translate(std::uint64_t linear, AccessKind kind, bool user);
  /// found  what the tables say of the page
  std::uint64_t walk(std::uint64_t linear, AccessKind kind, bool user, TlbEntry& found);
  /// Without consequences, for debuggers. returns false if not mapped
  bool peek_translation(std::uint64_t linear, std::uint64_t& physical);
  [[noreturn]] void page_fault(std::uint64_t linear, AccessKind kind, bool user, std::uint32_t bits);
  void load_pdptes(std::uint64_t root);
  void flush_tlb();
  /// INVLPG: the page of `linear`, whatever its size.
  void flush_page(std::uint64_t linear);

  // ================================================================================================ fetch.cc
  /// before  the record of the instruction that ran last: most often the wanted one lies behind it, and its address
  ///         does not wait for that of the instruction
  const Insn* fetch(const Insn* before) {
    const std::uint64_t offset = regs[kIp] - code.first_ip;
    if (offset < code.bytes) [[likely]] {
      if (before[1].offset == offset) [[likely]]
        return before + 1;
      if (const Insn* insn = code.page->find(static_cast<unsigned>(offset))) [[likely]]
        return insn;
    }
    return fetch_slow();
  }
  const Insn* fetch_slow();
  void forget_code_page() { code.bytes = 0; }
  void code_written(std::uint64_t physical, unsigned bytes);
  void drop_fast_stores(std::uint64_t physical_page);

  // ================================================================================================ state.cc
  /// After any change to segments, CR0, CR4, EFER, flags that matter (AC): recomputes what is derived.
  void refresh_mode();
  void refresh_views();
  void refresh_watching();
  /// Changes the flags in `mask`, and looks at what follows from that (IF, TF, AC).
  void write_flags(std::uint64_t value, std::uint64_t mask);

  // ================================================================================================ stack
  void set_stack_pointer(std::uint64_t value) { regs[kRsp] = (regs[kRsp] & stack_keep) | (value & stack_mask); }
  template <typename T>
  void push(T value) {
    const std::uint64_t to = (regs[kRsp] - sizeof(T)) & stack_mask;
    store<T>(kSs, to, value);
    set_stack_pointer(to);
  }
  template <typename T>
  T top_of_stack(std::uint64_t above = 0) {
    return load<T>(kSs, (regs[kRsp] + above) & stack_mask);
  }

  // ================================================================================================ segmentation.cc
  struct Descriptor {
    std::uint64_t low = 0, high = 0;  // high: second eight bytes of a 16-byte system descriptor
    std::uint64_t address = 0;        // linear
    Segment segment(std::uint16_t selector) const;
    unsigned type() const { return static_cast<unsigned>(low >> 40 & 15); }
    bool code_or_data() const { return (low >> 44 & 1) != 0; }
    unsigned dpl() const { return static_cast<unsigned>(low >> 45 & 3); }
    bool present() const { return (low >> 47 & 1) != 0; }
  };
  /// Faults with `vector` and the selector as error code if it lies outside its table.
  Descriptor read_descriptor(std::uint16_t selector, std::uint8_t vector = kGeneralProtection);
  /// System descriptors of IA-32e mode are sixteen bytes. Faults with the selector if the second half lies outside the
  /// table, or looks like a descriptor of its own.
  void read_upper_half(Descriptor& descriptor, std::uint16_t selector);
  /// Of the table that a selector names.
  std::uint64_t table_limit(std::uint16_t selector) const;
  void set_accessed(Descriptor& descriptor);
  /// MOV and POP to a data segment register, SS included; also LDS and its kin.
  void load_segment(unsigned seg, std::uint16_t selector);
  /// What ES, DS, FS and GS may be loaded with at this privilege level. vector  of the fault of what they may not
  Segment checked_data_segment(std::uint16_t selector, std::uint8_t vector);
  Segment checked_stack_segment(std::uint16_t selector, unsigned level, std::uint8_t vector, bool external);
  void load_ldt(std::uint16_t selector);
  void load_tr(std::uint16_t selector);
  void set_real_segment(unsigned seg, std::uint16_t selector);
  void set_code_segment(const Segment& segment, unsigned level);
  /// refresh_mode() has to follow.
  void set_level(unsigned level);
  /// Data segments that the new privilege level may not use become null.
  void drop_inaccessible_segments();

  // ================================================================================================ far.cc,
  // delivery.cc
  /// Interrupt or exception through IVT or IDT. Throws what goes wrong on the way, the state unchanged.
  enum class Origin : std::uint8_t { External, Exception, Software, Icebp };
  void deliver(std::uint8_t vector, bool has_error, std::uint32_t error, Origin origin, std::uint64_t return_ip);
  /// Delivers with double and triple fault. returns false on shutdown (stop is filled in)
  bool raise(const Fault& fault);
  void io_check(std::uint16_t port, unsigned bytes);
  /// What touches the interrupt flag faults in virtual-8086 mode unless IOPL is 3.
  void require_iopl_in_virtual8086() const;
  [[nodiscard]] std::uint64_t tss_stack(unsigned level, std::uint16_t& selector, bool external);
  /// The stack pointer at `offset` of a 64-bit TSS.
  [[nodiscard]] std::uint64_t tss_stack64(unsigned offset, bool external);

  // ================================================================================================ tasks.cc
  enum class TaskSwitch : std::uint8_t { Jump, Call, Return };  // interrupts and exceptions switch as CALL does
  /// An available or a busy TSS of the GDT; faults with `vector`, external is the lowest bit of the error code.
  Descriptor task_descriptor(std::uint16_t selector, bool busy, std::uint8_t vector, std::uint32_t external);
  /// return_ip, flags  what the old task is left with
  void switch_task(const Descriptor& to, std::uint16_t selector, TaskSwitch why, std::uint64_t return_ip,
                   std::uint64_t flags, std::uint32_t external);
  /// The error code of an exception, on the stack of the task that handles it.
  void push_task_error(std::uint32_t error, std::uint32_t external);
  /// A far JMP or CALL to what is no code segment and no call gate.
  void enter_task(const Descriptor& d, std::uint16_t selector, TaskSwitch why);
  /// IRET of a nested task.
  void leave_task();

  // ================================================================================================ run.cc
  Stop run(std::uint64_t instructions);
  bool boundary();
  /// Whether boundary() would deliver something, at once or behind a shadow.
  bool event_due() const;
  void run_stretch(std::uint64_t deadline);
  void spin_as_watched(bool stepping);
  void take_interrupt(std::uint8_t vector);
  void handle_fault(const Fault& fault);
  std::uint64_t linear_ip() const;
  /// Tells the observer everything that retired before the instruction that executes.
  void flush_reports();
  void report_transfer(arch::TakenBranch branch, TransferCause cause);
  void ask_watch();
  template <Watch::Retirements R, bool Branches>
  void spin();
  void retire_one(std::uint16_t row, unsigned level, std::uint64_t from);
  arch::RegisterFile register_file(std::uint64_t ip) const;
  void enter_smm();
  void leave_smm();
  void do_init();

  // ================================================================================================ debug.cc
  void check_data_breakpoints(std::uint64_t linear, unsigned bytes, bool write);
  void check_io_breakpoints(std::uint16_t port, unsigned bytes);
  bool watches_code() const;
  bool code_breakpoint_here();
  /// Whether CPUID names AMD: the few rules that differ ask.
  bool is_amd() const { return cpuid.cpuid(0, 0).ebx == 0x68747541; }
  /// What DR6 says when #DB comes: its other bits stay, those of the breakpoints are of this exception alone, with what
  /// was pending.
  void note_debug_cause(std::uint64_t causes);

  // ================================================================================================ system.cc
  void write_cr0(std::uint64_t value);
  void write_cr3(std::uint64_t value);
  void write_cr4(std::uint64_t value);
  bool read_msr(std::uint32_t msr, std::uint64_t& value);
  bool write_msr(std::uint32_t msr, std::uint64_t value);
  bool debug_armed() const { return (dr7 & 0xFF) != 0; }

  void reset();
  CpuState reset_state();
  CpuState state() const;
  void set_state(const CpuState& state);
};

}  // namespace zs::machine::vcpu
