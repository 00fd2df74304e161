#include "profile/perf_data/event_attr.h"

namespace zs::profile {

std::uint64_t sample_type_of(const RecordingDescription& description) {
  using namespace perf::sample_field;
  std::uint64_t fields = ip | tid | time | address | cpu | period | identifier;
  if (description.interrupt_registers != 0) fields |= regs_intr;
  if (description.branch_filter != 0 || description.callchain == CallchainMode::LastBranches) fields |= branch_stack;
  if (description.callchain != CallchainMode::None) fields |= callchain;
  if (description.raw_records) fields |= raw;
  if (description.data_sources) fields |= data_source;
  if (description.latencies) fields |= weight_struct;
  if (description.physical_addresses) fields |= physical_address;
  if (description.callchain == CallchainMode::Dwarf) fields |= regs_user | stack_user;
  return fields;
}

perf::EventAttr attr_of(const RecordingDescription& description, std::size_t index) {
  using namespace perf::attr_flag;
  const EventDescription& event = description.events[index];
  perf::EventAttr attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.sample_period = event.period;
  attr.sample_type = sample_type_of(description);
  attr.read_format = perf::read_format::id;
  attr.flags = disabled | sample_id_all | exclude_guest | std::uint64_t{event.precise_ip & 3u} << precise_shift;
  if (description.inherit) attr.flags |= perf::attr_flag::inherit;
  if (event.exclude_user) attr.flags |= exclude_user;
  if (event.exclude_kernel) attr.flags |= exclude_kernel;
  if (event.exclude_hypervisor) attr.flags |= exclude_hypervisor;
  if (event.frequency) attr.flags |= perf::attr_flag::frequency;
  if (index == 0) attr.flags |= perf::attr_flag::mmap | comm | task | mmap2 | comm_exec | enable_on_exec | build_id;
  if (index == 0 && description.data_mappings) attr.flags |= mmap_data;
  attr.branch_sample_type = description.branch_filter;
  if (description.callchain == CallchainMode::LastBranches) {
    attr.branch_sample_type |= perf::branch_filter::user | perf::branch_filter::call_stack;
  }
  attr.sample_regs_intr = description.interrupt_registers;
  if (description.callchain == CallchainMode::Dwarf) {
    attr.flags |= exclude_callchain_user;
    attr.sample_regs_user = perf::kAllGeneralRegisters;
    attr.sample_stack_user = description.stack_bytes;
  }
  return attr;
}

std::vector<std::uint64_t> record_ids_of(const RecordingDescription& description, std::size_t index) {
  const auto& ids = description.events[index].ids;
  return ids.empty() ? std::vector{record_id_of(description, index)} : ids;
}

std::uint64_t record_id_of(const RecordingDescription& description, std::size_t index) {
  const auto& ids = description.events[index].ids;
  return ids.empty() ? std::uint64_t{index} + 1 : ids.front();
}

}  // namespace zs::profile
