#include "machine/devices/local_apic.h"

#include "machine/devices/pic.h"

namespace zs::machine {
namespace {

// Register numbers: the offset divided by 16 in xAPIC mode, the MSR minus 800H in x2APIC mode.
enum Register : std::uint32_t {
  kId = 0x02,
  kVersion = 0x03,
  kTpr = 0x08,
  kApr = 0x09,
  kPpr = 0x0A,
  kEoi = 0x0B,
  kRrd = 0x0C,
  kLdr = 0x0D,
  kDfr = 0x0E,
  kSvr = 0x0F,
  kIsr = 0x10,
  kTmr = 0x18,
  kIrr = 0x20,
  kEsr = 0x28,
  kIcrLow = 0x30,
  kIcrHigh = 0x31,
  kLvtTimer = 0x32,
  kLvtError = 0x37,
  kInitialCount = 0x38,
  kCurrentCount = 0x39,
  kDivide = 0x3E,
  kSelfIpi = 0x3F,
  kExtendedFeature = 0x40,
  kExtendedControl = 0x41,
  kExtendedLvt = 0x50,
};

constexpr std::uint32_t kVersionValue = 0x15 | 5u << 16;  // integrated; the last LVT entry is number 5
/// source: AMD64 Architecture Programmer's Manual vol. 2, "Extended APIC Registers".
constexpr std::uint32_t kHasExtended = 1u << 31, kExtendedLvts = 4u << 16, kExtendedWritable = 0x107FF;
constexpr std::uint32_t kSendIllegalVector = 1u << 5, kReceivedIllegalVector = 1u << 6, kIllegalRegister = 1u << 7;
constexpr unsigned kFirstLegalVector = 16;
constexpr std::uint32_t kLogical = 1u << 11, kLevelTriggered = 1u << 15;  // of an interrupt message
constexpr std::uint32_t kTimerPeriodic = 1u << 17, kTimerDeadline = 1u << 18;

/// The bits software sets in each LVT entry: vector, delivery mode, polarity, trigger, mask, timer mode without
/// TSC-deadline.
constexpr std::array<std::uint32_t, 6> kLvtWritable = {0x300FF, 0x107FF, 0x107FF, 0x1A7FF, 0x1A7FF, 0x100FF};

unsigned delivery_mode(std::uint32_t entry) { return entry >> 8 & 7; }

}  // namespace

LocalApic::LocalApic(CpuPins& pins, const Clock& clock, Pic& pic, Features features)
    : pins_(pins), pic_(pic), features_(features), timer_(clock) {
  power_up();
}

void LocalApic::power_up() {
  base_ = kBase | kBaseEnable | kBaseBsp;
  id_ = 0;
  init();
}

void LocalApic::enter_virtual_wire() {
  constexpr std::uint32_t kEnabled = 0x1FF, kExtIntAtLint0 = 0x700, kNmiAtLint1 = 0x400;
  write(kSvr << 4, kEnabled);
  write((kLvtTimer + unsigned{kLint0}) << 4, kExtIntAtLint0);
  write((kLvtTimer + unsigned{kLint1}) << 4, kNmiAtLint1);
}

void LocalApic::init() {
  tpr_ = 0;
  svr_ = 0xFF;
  ldr_ = 0;
  dfr_ = ~0u;
  esr_ = pending_errors_ = icr_low_ = icr_high_ = 0;
  lvt_.fill(kMasked);
  extended_.fill(kMasked);
  irr_ = isr_ = tmr_ = {};
  timer_.reset();
  update_line();
}

unsigned LocalApic::processor_priority() const {
  const int in_service = isr_.highest();
  const unsigned service_class = in_service < 0 ? 0 : static_cast<unsigned>(in_service) & 0xF0;
  return (tpr_ & 0xF0) >= service_class ? tpr_ & 0xFF : service_class;
}

std::optional<unsigned> LocalApic::deliverable() const {
  if (!enabled() || !software_enabled()) return std::nullopt;
  const int request = irr_.highest();
  if (request < 0 || (static_cast<unsigned>(request) & 0xF0) <= (processor_priority() & 0xF0)) return std::nullopt;
  return static_cast<unsigned>(request);
}

bool LocalApic::pic_reaches_cpu() const {
  if (!enabled() || !software_enabled()) return true;
  return (lvt_[kLint0] & kMasked) == 0 && delivery_mode(lvt_[kLint0]) == kExtInt;
}

void LocalApic::update_line() {
  const bool up = deliverable().has_value() || (pic_reaches_cpu() && pic_.requesting());
  if (up == line_) return;
  line_ = up;
  pins_.interrupt_line(up);
}

std::optional<std::uint8_t> LocalApic::acknowledge() {
  std::optional<std::uint8_t> vector;
  if (const auto request = deliverable()) {
    irr_.clear(*request);
    isr_.set(*request);
    vector = static_cast<std::uint8_t>(*request);
  } else if (pic_reaches_cpu() && pic_.requesting()) {
    vector = pic_.acknowledge();
  }
  update_line();
  return vector;
}

void LocalApic::set_task_priority(std::uint8_t priority) {
  tpr_ = std::uint32_t{priority} << 4;
  update_line();
}

void LocalApic::request(unsigned vector, bool level) {
  if (vector < kFirstLegalVector) {
    error(kReceivedIllegalVector);
    return;
  }
  irr_.set(vector);
  level ? tmr_.set(vector) : tmr_.clear(vector);
  update_line();
}

void LocalApic::error(std::uint32_t bit) {
  pending_errors_ |= bit;
  const std::uint32_t entry = lvt_[kError];
  if ((entry & kMasked) == 0 && (entry & 0xFF) >= kFirstLegalVector) {
    irr_.set(entry & 0xFF);
    update_line();
  }
}

bool LocalApic::take_message(std::uint32_t message, std::uint8_t destination) {
  constexpr std::uint8_t kBroadcast = 0xFF;
  const bool logical = (message & kLogical) != 0;
  if (!enabled() || (!addressed(logical, destination) && (logical || destination != kBroadcast))) return false;
  deliver(static_cast<std::uint8_t>(message), delivery_mode(message), (message & kLevelTriggered) != 0);
  return true;
}

void LocalApic::deliver(std::uint8_t vector, unsigned mode, bool level) {
  if (!enabled()) return;
  switch (mode) {
    case kFixed:
    case kLowest:
      if (software_enabled()) request(vector, level);
      return;
    case kSmi: pins_.smi(); return;
    case kNmi: pins_.nmi(); return;
    case kInit: pins_.init(); return;
    default: return;  // ExtINT comes by wire; start-up does nothing to a processor that runs
  }
}

void LocalApic::raise(Lvt entry) {
  const std::uint32_t value = lvt_[entry];
  if (!enabled() || (value & kMasked) != 0) return;
  deliver(static_cast<std::uint8_t>(value), delivery_mode(value));
}

void LocalApic::request_pmi() {
  if (!enabled() || (lvt_[kPmi] & kMasked) != 0) return;  // nothing is remembered
  const std::uint32_t entry = lvt_[kPmi];
  if (features_.pmi_masks) lvt_[kPmi] |= kMasked;
  deliver(static_cast<std::uint8_t>(entry), delivery_mode(entry));
}

bool LocalApic::pmi_reaches_cpu(bool interrupts_enabled) const {
  return (lvt_[kPmi] & kMasked) == 0 && (interrupts_enabled || delivery_mode(lvt_[kPmi]) != kFixed);
}

void LocalApic::request_extended(unsigned entry) {
  const std::uint32_t value = extended_[entry];
  if ((value & kMasked) == 0) deliver(static_cast<std::uint8_t>(value), delivery_mode(value));
}

// ---- timer

/// Whether or not its interrupt is masked.
void LocalApic::expire_deadline() {
  if (timer_.expire_deadline()) raise(kTimer);
}

void LocalApic::tsc_written(std::uint64_t offset) {
  expire_deadline();
  timer_.set_tsc_offset(offset);
}

std::uint64_t LocalApic::deadline() const { return (lvt_[kTimer] & kMasked) != 0 ? kNever : timer_.due(); }

void LocalApic::clock_moved() {
  expire_deadline();
  if (timer_.expire_count()) raise(kTimer);
}

// ---- registers

void LocalApic::write_svr(std::uint32_t value) {
  svr_ = value & 0x1FF;
  if (!software_enabled()) {
    for (std::uint32_t& entry : lvt_) entry |= kMasked;
    for (std::uint32_t& entry : extended_) entry |= kMasked;
  }
  update_line();
}

bool LocalApic::write_lvt(Lvt entry, std::uint32_t value) {
  const std::uint32_t writable = kLvtWritable[entry] | (entry == kTimer && features_.tsc_deadline ? kTimerDeadline : 0);
  if (x2apic() && (value & ~(writable | 1u << 12)) != 0) return false;
  value &= writable;
  if (!software_enabled()) value |= kMasked;
  if (entry == kTimer) {
    expire_deadline();
    timer_.set_mode((value & kTimerDeadline) != 0   ? ApicTimer::Mode::Deadline
                    : (value & kTimerPeriodic) != 0 ? ApicTimer::Mode::Periodic
                                                    : ApicTimer::Mode::OneShot);
  }
  lvt_[entry] = value;
  const bool vectored = delivery_mode(value) == kFixed || entry == kTimer || entry == kError;
  if (vectored && (value & kMasked) == 0 && (value & 0xFF) < kFirstLegalVector) error(kReceivedIllegalVector);
  update_line();
  return true;
}

void LocalApic::end_of_interrupt() {
  if (const int highest = isr_.highest(); highest >= 0) {
    const auto vector = static_cast<std::uint8_t>(highest);
    isr_.clear(vector);
    if (tmr_.has(vector)) end_of_level_(vector);
  }
  update_line();
}

/// Whether a message with this destination is for this processor.
bool LocalApic::addressed(bool logical, std::uint32_t destination) const {
  if (!logical) return destination == id_ || destination == (x2apic() ? ~0u : 0xFFu);
  if (x2apic()) return (destination >> 16) == 0 && (destination & 1) != 0;  // logical ID 1 of cluster 0
  const bool cluster = dfr_ >> 28 == 0;
  return cluster ? destination >> 4 == ldr_ >> 28 && (destination & ldr_ >> 24 & 0xF) != 0
                 : (destination & ldr_ >> 24) != 0;
}

void LocalApic::send(std::uint32_t low, std::uint32_t destination) {
  enum Shorthand : std::uint8_t { kNone, kSelf, kAll, kOthers };
  const unsigned mode = delivery_mode(low);
  const auto shorthand = static_cast<Shorthand>(low >> 18 & 3);
  const bool to_self =
      shorthand == kNone ? addressed((low & kLogical) != 0, destination) : shorthand == kSelf || shorthand == kAll;
  if ((mode == kFixed || mode == kLowest) && (low & 0xFF) < kFirstLegalVector) {
    error(kSendIllegalVector);
    return;
  }
  if (!to_self) return;  // there is nobody else
  if (mode == kInit && (shorthand != kNone || (low & 1u << 14) == 0))
    return;  // no INIT to oneself by shorthand; de-assert
  deliver(static_cast<std::uint8_t>(low), mode);
}

bool LocalApic::read_register(std::uint32_t index, std::uint32_t& value) {
  for (const auto& [first, set] : {std::pair{kIsr, &isr_}, {kTmr, &tmr_}, {kIrr, &irr_}}) {
    if (index < first || index >= first + 8u) continue;
    value = set->word(index - first);
    return true;
  }
  if (index >= kLvtTimer && index <= kLvtError) {
    value = lvt_[index - kLvtTimer];
    return true;
  }
  if (features_.extended && index >= kExtendedLvt && index < kExtendedLvt + extended_.size()) {
    value = extended_[index - kExtendedLvt];
    return true;
  }
  switch (index) {
    case kId: value = x2apic() ? id_ : id_ << 24; return true;
    case kVersion: value = kVersionValue | (features_.extended ? kHasExtended : 0); return true;
    case kExtendedFeature: value = kExtendedLvts; return features_.extended;
    case kExtendedControl: value = 0; return features_.extended;
    case kTpr: value = tpr_; return true;
    case kApr:
    case kRrd: value = 0; return !x2apic();
    case kPpr: value = processor_priority(); return true;
    case kLdr: value = x2apic() ? 1 : ldr_; return true;
    case kDfr: value = dfr_; return !x2apic();
    case kSvr: value = svr_; return true;
    case kEsr: value = esr_; return true;
    case kIcrLow: value = icr_low_; return true;
    case kIcrHigh: value = icr_high_; return !x2apic();
    case kInitialCount: value = timer_.initial_count(); return true;
    case kCurrentCount: value = timer_.count(); return true;
    case kDivide: value = timer_.divide(); return true;
    case kEoi: value = 0; return !x2apic();
    default: return false;
  }
}

bool LocalApic::write_register(std::uint32_t index, std::uint32_t value) {
  if (index >= kLvtTimer && index <= kLvtError) return write_lvt(static_cast<Lvt>(index - kLvtTimer), value);
  if (features_.extended && index >= kExtendedLvt && index < kExtendedLvt + extended_.size()) {
    extended_[index - kExtendedLvt] = (value & kExtendedWritable) | (software_enabled() ? 0 : kMasked);
    return true;
  }
  switch (index) {
    case kId:
      if (x2apic()) return false;
      id_ = value >> 24;
      return true;
    case kTpr:
      if (x2apic() && value > 0xFF) return false;
      tpr_ = value & 0xFF;
      update_line();
      return true;
    case kEoi:
      if (x2apic() && value != 0) return false;
      end_of_interrupt();
      return true;
    case kLdr:
      if (x2apic()) return false;
      ldr_ = value & 0xFF000000;
      return true;
    case kDfr:
      if (x2apic()) return false;
      dfr_ = value | 0x0FFFFFFF;
      return true;
    case kSvr:
      if (x2apic() && (value & ~0x1FFu) != 0) return false;
      write_svr(value);
      return true;
    case kEsr:
      if (x2apic() && value != 0) return false;
      esr_ = pending_errors_;
      pending_errors_ = 0;
      return true;
    case kIcrLow:
      icr_low_ = value & 0xCCFFF;
      send(icr_low_, x2apic() ? icr_high_ : icr_high_ >> 24);
      return true;
    case kIcrHigh:
      if (x2apic()) return false;
      icr_high_ = value & 0xFF000000;
      return true;
    case kInitialCount:
      if (timer_.mode() != ApicTimer::Mode::Deadline) timer_.start(value);
      return true;
    case kDivide:
      if (x2apic() && (value & ~0xBu) != 0) return false;
      timer_.set_divide(value & 0xB);
      return true;
    case kSelfIpi:
      if (!x2apic() || value > 0xFF) return false;
      if (value < kFirstLegalVector) {
        error(kSendIllegalVector);
      } else {
        request(value, false);
      }
      return true;
    default: return false;
  }
}

std::uint32_t LocalApic::read(std::uint32_t offset) {
  std::uint32_t value = 0;
  if ((offset & 0xF) != 0) return 0;
  if (!read_register(offset >> 4, value)) error(kIllegalRegister);
  return value;
}

void LocalApic::write(std::uint32_t offset, std::uint32_t value) {
  if ((offset & 0xF) != 0) return;
  std::uint32_t ignored = 0;
  if (!write_register(offset >> 4, value) && !read_register(offset >> 4, ignored)) error(kIllegalRegister);
}

bool LocalApic::rdmsr(std::uint32_t msr, std::uint64_t& value) {
  if (msr == kBaseMsr) {
    value = base_;
    return true;
  }
  if (msr == kTscDeadlineMsr) {
    expire_deadline();
    value = timer_.tsc_deadline();
    return features_.tsc_deadline;
  }
  if (msr < kFirstMsr || msr > kLastMsr || !enabled() || !x2apic()) return false;
  std::uint32_t low = 0;
  if (!read_register(msr - kFirstMsr, low)) return false;
  value = low;
  if (msr - kFirstMsr == kIcrLow) value |= std::uint64_t{icr_high_} << 32;
  return true;
}

bool LocalApic::wrmsr(std::uint32_t msr, std::uint64_t value) {
  if (msr == kBaseMsr) {
    const std::uint64_t modes = kBaseEnable | (features_.x2apic ? kBaseX2 : 0);
    if ((value & ~(kBaseAddress | modes | kBaseBsp)) != 0) return false;
    const bool enable = (value & kBaseEnable) != 0, x2 = (value & kBaseX2) != 0;
    if (x2 && !enable) return false;
    if (x2 && !enabled()) return false;           // from disabled to x2APIC in one step
    if (x2apic() && enable && !x2) return false;  // from x2APIC back to xAPIC only through disabled
    const bool was_enabled = enabled(), was_x2 = x2apic();
    base_ = value;
    if (was_enabled != enable || (was_x2 && !enable)) init();
    if (!was_x2 && x2) id_ = icr_low_ = icr_high_ = 0;  // an ID that software wrote does not last
    update_line();
    return true;
  }
  if (msr == kTscDeadlineMsr) {
    if (timer_.mode() == ApicTimer::Mode::Deadline) {
      timer_.set_tsc_deadline(value);
      expire_deadline();
    }
    return features_.tsc_deadline;
  }
  if (msr < kFirstMsr || msr > kLastMsr || !enabled() || !x2apic()) return false;
  const std::uint32_t index = msr - kFirstMsr;
  if (index == kIcrLow) {
    if ((value & 0xFFFFFFFF & ~0xCCFFFull) != 0) return false;
    icr_high_ = static_cast<std::uint32_t>(value >> 32);
    return write_register(index, static_cast<std::uint32_t>(value));
  }
  if (value >> 32 != 0) return false;
  return write_register(index, static_cast<std::uint32_t>(value));
}

}  // namespace zs::machine
