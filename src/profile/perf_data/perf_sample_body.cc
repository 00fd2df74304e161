#include "profile/perf_data/perf_sample_body.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "arch/retired.h"
#include "base/units.h"
#include "profile/perf_data/event_attr.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {
namespace {

namespace field = perf::sample_field;

void write_words(ByteWriter& out, const std::uint64_t* words, std::size_t count) {
  out.write_bytes(std::as_bytes(std::span(words, count)));
}

/// By perf::Register.
constexpr std::array<std::uint64_t, perf::kNamedRegisters> values_of(const arch::RegisterFile& file) {
  std::array<std::uint64_t, perf::kNamedRegisters> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (perf::kRegisterMembers[i] != nullptr) values[i] = file.*perf::kRegisterMembers[i];
  }
  // The segments of every 64-bit Linux program; the others are 0.
  values[static_cast<std::size_t>(perf::Register::Cs)] = 0x33;
  values[static_cast<std::size_t>(perf::Register::Ss)] = 0x2B;
  return values;
}

/// mask  by perf::Register; what has no value of its own is 0
void put_registers(ByteWriter& out, const session::Sample& sample, std::uint64_t mask) {
  if (!sample.has_registers) {
    out.write(perf::RegisterAbi::None);
    return;
  }
  const auto values = values_of(sample.registers);
  std::array<std::uint64_t, 1 + perf::kNamedRegisters> words;
  words[0] = static_cast<std::uint64_t>(perf::RegisterAbi::Bits64);
  std::size_t count = 1;
  constexpr std::uint64_t kNamed = (std::uint64_t{1} << perf::kNamedRegisters) - 1;
  for (std::uint64_t rest = mask & kNamed; rest != 0; rest &= rest - 1)
    words[count++] = values[static_cast<std::size_t>(std::countr_zero(rest))];
  write_words(out, words.data(), count);
}

perf::BranchType branch_type_of(arch::BranchKind kind) {
  switch (kind) {
    case arch::BranchKind::Conditional: return perf::BranchType::Conditional;
    case arch::BranchKind::RelativeJump: return perf::BranchType::Unconditional;
    case arch::BranchKind::IndirectJump: return perf::BranchType::Indirect;
    case arch::BranchKind::RelativeCall: return perf::BranchType::Call;
    case arch::BranchKind::IndirectCall: return perf::BranchType::IndirectCall;
    case arch::BranchKind::Return: return perf::BranchType::Return;
    case arch::BranchKind::Far: return perf::BranchType::Syscall;
    case arch::BranchKind::None: break;
  }
  return perf::BranchType::Unknown;
}

/// Its length and the bytes themselves fill whole words together.
std::size_t padded_raw_bytes(const session::Sample& sample) {
  return align_up(sizeof(std::uint32_t) + sample.raw.size(), 8) - sizeof(std::uint32_t);
}

void write_raw(ByteWriter& out, const session::Sample& sample) {
  const std::size_t bytes = padded_raw_bytes(sample);
  out.write(static_cast<std::uint32_t>(bytes));
  out.write_bytes(sample.raw);
  out.write_zeros(bytes - sample.raw.size());
}

}  // namespace

SampleBody::SampleBody(const RecordingDescription& description)
    : description_(description), fields_(sample_type_of(description)) {}

/// Of what is not in SampleStart and is not cut.
std::size_t SampleBody::bytes_of_fixed_parts(std::size_t raw_bytes) const {
  constexpr std::size_t kRegisterBytes = 8 + 8 * std::size_t{perf::kNamedRegisters};
  std::size_t bytes = sizeof(perf::Weight) + sizeof(session::Sample::data_source);
  if (has(field::callchain)) bytes += 16;
  if (has(field::raw)) bytes += sizeof(std::uint32_t) + raw_bytes;
  if (has(field::branch_stack)) bytes += 8;
  if (has(field::regs_user)) bytes += kRegisterBytes + 16;
  if (has(field::regs_intr)) bytes += kRegisterBytes;
  return bytes;
}

void SampleBody::write(ByteWriter& out, std::size_t record_at, const session::Sample& sample, std::uint64_t id,
                       const std::function<void(std::uint64_t)>& is_code) const {
  out.write(SampleStart{.id = id,
                        .ip = sample.ip,
                        .pid = static_cast<std::uint32_t>(sample.pid),
                        .tid = static_cast<std::uint32_t>(sample.tid),
                        .time_ns = sample.time_ns,
                        .address = sample.address,
                        .cpu = sample.cpu,
                        .zero = 0,
                        .period = sample.period});
  is_code(sample.ip);

  // What remains for the parts of variable length: call chain, branches and stack are cut to fit, in this order.
  std::size_t room = perf::kMaxRecordBytes - (out.size() - record_at);
  const auto need = [&room](std::size_t bytes) { room -= std::min(room, bytes); };
  need(bytes_of_fixed_parts(padded_raw_bytes(sample)));

  if (has(field::callchain)) need(write_callchain(out, sample, room, is_code));
  if (has(field::raw)) write_raw(out, sample);
  if (has(field::branch_stack)) need(write_branches(out, sample, room, is_code));
  if (has(field::regs_user)) put_registers(out, sample, perf::kAllGeneralRegisters);
  if (has(field::stack_user)) write_user_stack(out, sample, room);
  if (has(field::weight_struct)) {
    out.write(perf::Weight{.access = static_cast<std::uint32_t>(std::min<std::uint64_t>(sample.latency, UINT32_MAX)),
                           .instruction = sample.instruction_latency});
  }
  if (has(field::data_source)) out.write(sample.data_source);
  if (has(field::regs_intr)) put_registers(out, sample, description_.interrupt_registers);
}

/// returns the bytes of its entries
std::size_t SampleBody::write_callchain(ByteWriter& out, const session::Sample& sample, std::size_t room,
                                        const std::function<void(std::uint64_t)>& is_code) const {
  const bool unwound_later = description_.callchain == CallchainMode::Dwarf;
  const std::size_t entries = unwound_later ? 0 : std::min(sample.callchain.size(), room / 2 / 8);
  out.write(std::uint64_t{entries == 0 ? 0 : entries + 1});
  if (entries != 0) out.write(perf::kContextUser);
  write_words(out, sample.callchain.data(), entries);
  for (std::size_t i = 0; i < entries; ++i) is_code(sample.callchain[i]);
  return 8 * entries;
}

/// returns the bytes of its entries
std::size_t SampleBody::write_branches(ByteWriter& out, const session::Sample& sample, std::size_t room,
                                       const std::function<void(std::uint64_t)>& is_code) const {
  const std::size_t entries = std::min(sample.branches.size(), room / sizeof(perf::BranchEntry));
  out.write(std::uint64_t{entries});
  for (std::size_t i = 0; i < entries; ++i) {
    const session::SampledBranch& branch = sample.branches[i];
    std::uint64_t flags = std::uint64_t{branch.cycles} << perf::branch_flag::cycles_shift;
    if (description_.branch_prediction_known) {
      flags |= branch.mispredicted ? perf::branch_flag::mispredicted : perf::branch_flag::predicted;
    }
    if ((description_.branch_filter & perf::branch_filter::type_save) != 0) {
      flags |= static_cast<std::uint64_t>(branch_type_of(branch.kind)) << perf::branch_flag::type_shift;
    }
    flags |= static_cast<std::uint64_t>(branch.speculation) << perf::branch_flag::speculation_shift;
    out.write(perf::BranchEntry{branch.from, branch.to, flags});
    is_code(branch.from);
    is_code(branch.to);
  }
  return sizeof(perf::BranchEntry) * entries;
}

void SampleBody::write_user_stack(ByteWriter& out, const session::Sample& sample, std::size_t room) const {
  const std::size_t copied = std::min<std::size_t>({sample.user_stack.size(), description_.stack_bytes, room});
  const std::size_t padded = std::min((copied + 7) / 8 * 8, room / 8 * 8);
  out.write(std::uint64_t{padded});
  if (padded == 0) return;
  const std::size_t real = std::min(copied, padded);
  out.write_bytes(Bytes(sample.user_stack).first(real));
  out.write_zeros(padded - real);
  out.write(std::uint64_t{real});
}

}  // namespace zs::profile
