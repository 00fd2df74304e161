#include "machine/vcpu/vcpu.h"

#include <algorithm>
#include <cstring>

#include "arch/linear.h"
#include "machine/vcpu/core.h"

namespace zs::machine {

Vcpu::Vcpu(const Around& around) : core_(std::make_unique<vcpu::Core>(around, *this)) {}
Vcpu::~Vcpu() = default;

void Vcpu::reset() { core_->reset(); }
Stop Vcpu::run(std::uint64_t instructions) { return core_->run(instructions); }
void Vcpu::stop() { core_->set_due(&vcpu::Core::stop_requested); }

// ---- pins

void Vcpu::set_interrupt_line(bool up) {
  core_->interrupt_line = up;
  if (up) core_->arm();
}
void Vcpu::request_nmi() { core_->set_due(&vcpu::Core::nmi_pending); }
void Vcpu::request_smi() { core_->set_due(&vcpu::Core::smi_pending); }
void Vcpu::request_init() { core_->set_due(&vcpu::Core::init_pending); }
void Vcpu::request_machine_check() { core_->set_due(&vcpu::Core::mce_pending); }
bool Vcpu::event_due() const { return core_->event_due(); }
void Vcpu::set_debugctl(std::uint64_t value) { core_->debugctl = value; }
void Vcpu::watch_changed() { core_->set_due(&vcpu::Core::watch_stale); }

// ---- state

CpuState Vcpu::state() const { return core_->state(); }
void Vcpu::set_state(const CpuState& state) { core_->set_state(state); }
std::uint64_t Vcpu::gpr(Gpr reg) const { return core_->regs[reg]; }
void Vcpu::set_gpr(Gpr reg, std::uint64_t value) { core_->regs[reg] = value; }
std::uint64_t Vcpu::rflags() const { return core_->rflags(); }
void Vcpu::set_rflags(std::uint64_t value) { core_->write_flags(value, ~std::uint64_t{0}); }
std::uint64_t Vcpu::rip() const { return core_->regs[vcpu::kIp]; }
std::uint64_t Vcpu::linear_ip() const { return core_->linear_ip(); }
unsigned Vcpu::cpl() const { return core_->cpl; }
const Segment& Vcpu::segment(Seg seg) const { return core_->segments[seg]; }
std::uint64_t Vcpu::cr(unsigned number) const {
  switch (number) {
    case 0: return core_->cr0;
    case 2: return core_->cr2;
    case 3: return core_->cr3;
    case 4: return core_->cr4;
    case 8: return core_->interrupts.task_priority();
    default: return 0;
  }
}
std::uint64_t Vcpu::efer() const { return core_->efer; }
const TableRegister& Vcpu::idtr() const { return core_->idtr; }
void Vcpu::set_real_segment(Seg seg, std::uint16_t selector) {
  core_->set_real_segment(seg, selector);
  core_->refresh_views();
}
arch::RegisterFile Vcpu::register_file() const { return core_->register_file(core_->regs[vcpu::kIp]); }
std::uint64_t Vcpu::retired() const { return core_->retired(); }
std::uint64_t Vcpu::unreported() const { return core_->retired() - core_->reported; }

// ---- memory

namespace {

/// Whether `transfer` does not fault; a fault leaves no trace.
template <typename Transfer>
bool goes_through(vcpu::Core& core, Transfer transfer) {
  const std::uint64_t cr2 = core.cr2;
  try {
    transfer();
    return true;
  } catch (const vcpu::Fault&) {
    core.cr2 = cr2;
    return false;
  }
}

/// Calls `each(host bytes, count)` for the parts of a linear range, page by page.
template <typename Each>
bool each_part(vcpu::Core& core, std::uint64_t linear, std::size_t bytes, Each each) {
  for (std::size_t done = 0; done < bytes;) {
    std::uint64_t physical = 0;
    if (!core.peek_translation(linear + done, physical)) return false;
    const Bus::Page page = core.bus.page(physical & vcpu::kPageMask);
    if (page.bytes == nullptr) return false;
    const std::uint64_t offset = physical & vcpu::kPageOffset;
    const std::size_t count = std::min<std::size_t>(bytes - done, vcpu::kPageBytes - offset);
    each(page.bytes + offset, done, count, physical);
    done += count;
  }
  return true;
}

}  // namespace

bool Vcpu::read_linear(std::uint64_t linear, std::span<std::byte> into) {
  const std::uint64_t mask = core_->system_mask;
  return goes_through(
      *core_, [&] { core_->linear_read(linear & mask, into.data(), static_cast<unsigned>(into.size()), false, mask); });
}

bool Vcpu::write_linear(std::uint64_t linear, std::span<const std::byte> from) {
  const std::uint64_t mask = core_->system_mask;
  return goes_through(*core_, [&] {
    core_->linear_write(linear & mask, from.data(), static_cast<unsigned>(from.size()), false, mask);
  });
}

bool Vcpu::peek(std::uint64_t linear, std::span<std::byte> into) {
  return each_part(*core_, linear, into.size(), [&](std::byte* host, std::size_t at, std::size_t count, std::uint64_t) {
    std::memcpy(into.data() + at, host, count);
  });
}

bool Vcpu::poke(std::uint64_t linear, std::span<const std::byte> from) {
  return each_part(*core_, linear, from.size(),
                   [&](std::byte* host, std::size_t at, std::size_t count, std::uint64_t physical) {
                     std::memcpy(host, from.data() + at, count);
                     core_->code_written(physical, static_cast<unsigned>(count));
                   });
}

std::optional<std::uint64_t> Vcpu::physical(std::uint64_t linear) {
  std::uint64_t physical = 0;
  if (!core_->peek_translation(linear, physical)) return std::nullopt;
  return physical;
}

void Vcpu::raise_linear_fault(std::uint64_t linear, bool write) {
  vcpu::Core& core = *core_;
  core.ds_fault_pending = true;
  core.ds_fault_address = linear;
  if (core.long_mode && !arch::is_canonical(linear)) {
    core.ds_fault = {vcpu::kGeneralProtection, true, 0};
  } else {
    std::uint64_t physical = 0;
    const bool present = core.peek_translation(linear, physical);
    core.ds_fault = {vcpu::kPageFault, true, (present ? 1u : 0u) | (write ? 2u : 0u)};
  }
  core.arm();
}

void Vcpu::memory_written(std::uint64_t physical, std::uint64_t bytes) {
  for (const std::uint64_t end = physical + bytes; physical < end;) {
    const std::uint64_t next = std::min(end, (physical | vcpu::kPageOffset) + 1);
    core_->code_written(physical, static_cast<unsigned>(next - physical));
    physical = next;
  }
}

void Vcpu::memory_map_changed() {
  core_->flush_tlb();
  core_->decoded.forget();  // by a device, for one, which an instruction is just writing to
}

// ---- monitor

Monitor& Vcpu::monitor() { return core_->monitor; }
const NotOffered& Vcpu::not_offered() const { return core_->not_offered; }

}  // namespace zs::machine
