#include "pmu/pebs_record.h"

#include <cstring>
#include <optional>
#include <span>

#include "base/check.h"

namespace zs::pmu {

using arch::PebsDataCfg;
using arch::PebsFormat;
using arch::RegisterFile;

template <WireLayout T>
void PebsRecord::append(const T& value) {
  CHECK(bytes_.size() - size_ >= sizeof value);
  std::memcpy(bytes_.data() + size_, &value, sizeof value);
  size_ += sizeof value;
}

Bytes PebsRecord::lay_out(const arch::PebsShape& shape, const PebsContent& content, bool code64, const LbrStack& lbr,
                          VectorRegisters* registers) {
  size_ = 0;
  if (shape.layout == arch::DsLayout::Words32) {
    append(arch::low_halves(content.after));
    return Bytes{bytes_}.first(size_);
  }
  std::optional<RegisterFile> cut;
  const RegisterFile& after = code64 ? content.after : cut.emplace(arch::widened(arch::low_halves(content.after)));
  return arch::is_adaptive(shape.format) ? lay_out_adaptive(shape.groups, after, content, lbr, registers)
                                         : lay_out_fixed(shape.format, after, content);
}

Bytes PebsRecord::lay_out_fixed(PebsFormat format, const RegisterFile& after, const PebsContent& content) {
  arch::PebsV1& v1 = fixed_.v2.v1;  // every field that is not 0 for ever is written each time
  v1.v0.registers = after;
  v1.status = arch::traits(format).names_counters ? content.counters : content.status;
  v1.data_address = content.data_address;
  v1.data_source = content.data_source;
  v1.latency = content.latency;
  fixed_.v2.eventing_ip = content.eventing_ip;
  fixed_.tsc = content.tsc;
  return std::as_bytes(std::span{&fixed_, 1}).first(arch::traits(format).record_bytes);
}

Bytes PebsRecord::lay_out_adaptive(PebsDataCfg groups, const RegisterFile& after, const PebsContent& content,
                                   const LbrStack& lbr, VectorRegisters* registers) {
  const std::uint64_t size = arch::adaptive_size(groups);
  append(arch::PebsBasic{.format_size = groups.raw() | size << 48,
                         .ip = content.eventing_ip,
                         .counters = content.counters,
                         .tsc = content.tsc});
  if (groups.has(PebsDataCfg::memory)) {
    append(arch::PebsMemory{
        .address = content.data_address, .source = content.data_source, .latency = content.latency, .transaction = 0});
  }
  if (groups.has(PebsDataCfg::gprs)) append(arch::adaptive_order(after));
  if (groups.has(PebsDataCfg::xmms)) {
    arch::PebsXmms xmms{};
    if (registers != nullptr) registers->read_xmm(xmms.registers);
    append(xmms);
  }
  for (unsigned n = 0; n < arch::lbr_entries(groups); ++n) {
    const LbrStack::Entry entry = lbr.newest(n);
    append(arch::PebsLbr{.from = entry.from, .to = entry.to, .info = entry.info});
  }
  CHECK(size_ == size);
  return Bytes{bytes_}.first(size_);
}

}  // namespace zs::pmu
