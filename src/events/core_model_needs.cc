#include "events/core_model_needs.h"

#include <array>

#include "arch/events/event.h"
#include "base/items.h"

namespace zs::session {
namespace {

struct Family {
  std::string_view part, prefixes;
};

// The longest matching prefix decides; what no row names counts cycles or uops, and so needs the timing model.
// clang-format off
constexpr std::array kFamilies{
    Family{"branch predictor", "br_misp_ baclears bp_ ex_ret_uncond_brnch_instr_mispred"},
    Family{"TLBs",
           "dtlb_ itlb ept tlb_flush page_walker_loads mem_inst_retired.stlb_ mem_uops_retired.stlb_ "
           "frontend_retired.itlb_ frontend_retired.stlb_ bp_l1_tlb_ ls_l1_d_tlb ls_tlb_flush"},
    Family{"caches",
           "frontend_retired.l1i_ frontend_retired.l2_ mem_ l1d l1i l2_ longest_lat_cache offcore_ icache load_hit_pre "
           "lock_cycles sw_prefetch_access core_snoop_response ls_ ic_tag_hit_miss op_cache_hit_miss"},
    Family{"kinds of instructions",
           "ex_ret_ind_brch ex_ret_uncond_brnch_instr ex_ret_ucode_instr ls_dispatch ls_locks ls_ret_ fp_ "
           "packed_int_op_type sse_avx_ops_retired"},
    Family{"instruction-based sampling", "ex_tagged_ibs"},
    Family{"interrupts", "ls_int_taken ls_smi_rx"},
    Family{"values of operands", "assists.fp fp_assist"},
    Family{"transactional memory", "hle_retired rtm_retired tx_"},
};
// clang-format on

}  // namespace

std::string_view core_model_part_of(std::string_view event) {
  std::string_view part = "cycles";
  std::size_t longest = 0;
  for (const Family& family : kFamilies) {
    for (const std::string_view prefix : items_of(family.prefixes, ' ')) {
      if (prefix.size() <= longest || !arch::equal_case_blind(event.substr(0, prefix.size()), prefix)) continue;
      part = family.part;
      longest = prefix.size();
    }
  }
  return part;
}

}  // namespace zs::session
