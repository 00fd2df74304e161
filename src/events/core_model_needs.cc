#include "events/core_model_needs.h"

#include <array>

#include "arch/events/event.h"

namespace zs::session {
namespace {

struct Family {
  std::string_view prefix, part;
};

// The longest matching prefix decides; what no row names counts cycles or uops, and so needs the timing model.
// clang-format off
constexpr std::array kFamilies{
    Family{"br_misp_",                         "branch predictor"},
    Family{"baclears",                         "branch predictor"},
    Family{"dtlb_",                            "TLBs"},
    Family{"itlb",                             "TLBs"},
    Family{"ept",                              "TLBs"},
    Family{"tlb_flush",                        "TLBs"},
    Family{"page_walker_loads",                "TLBs"},
    Family{"mem_inst_retired.stlb_",           "TLBs"},
    Family{"mem_uops_retired.stlb_",           "TLBs"},
    Family{"frontend_retired.itlb_",           "TLBs"},
    Family{"frontend_retired.stlb_",           "TLBs"},
    Family{"frontend_retired.l1i_",            "caches"},
    Family{"frontend_retired.l2_",             "caches"},
    Family{"mem_",                             "caches"},
    Family{"l1d",                              "caches"},
    Family{"l1i",                              "caches"},
    Family{"l2_",                              "caches"},
    Family{"longest_lat_cache",                "caches"},
    Family{"offcore_",                         "caches"},
    Family{"icache",                           "caches"},
    Family{"load_hit_pre",                     "caches"},
    Family{"lock_cycles",                      "caches"},
    Family{"sw_prefetch_access",               "caches"},
    Family{"core_snoop_response",              "caches"},
    Family{"bp_",                              "branch predictor"},
    Family{"bp_l1_tlb_",                       "TLBs"},
    Family{"ex_ret_ind_brch",                  "kinds of instructions"},
    Family{"ex_ret_uncond_brnch_instr",        "kinds of instructions"},
    Family{"ex_ret_uncond_brnch_instr_mispred", "branch predictor"},
    Family{"ex_ret_ucode_instr",               "kinds of instructions"},
    Family{"ex_tagged_ibs",                    "instruction-based sampling"},
    Family{"ls_",                              "caches"},
    Family{"ls_dispatch",                      "kinds of instructions"},
    Family{"ls_int_taken",                     "interrupts"},
    Family{"ls_l1_d_tlb",                      "TLBs"},
    Family{"ls_locks",                         "kinds of instructions"},
    Family{"ls_ret_",                          "kinds of instructions"},
    Family{"ls_smi_rx",                        "interrupts"},
    Family{"ls_tlb_flush",                     "TLBs"},
    Family{"ic_tag_hit_miss",                  "caches"},
    Family{"op_cache_hit_miss",                "caches"},
    Family{"assists.fp",                       "values of operands"},
    Family{"fp_assist",                        "values of operands"},
    Family{"fp_",                              "kinds of instructions"},
    Family{"packed_int_op_type",               "kinds of instructions"},
    Family{"sse_avx_ops_retired",              "kinds of instructions"},
    Family{"hle_retired",                      "transactional memory"},
    Family{"rtm_retired",                      "transactional memory"},
    Family{"tx_",                              "transactional memory"},
};
// clang-format on

}  // namespace

std::string_view core_model_part_of(std::string_view event) {
  std::string_view part = "cycles";
  std::size_t longest = 0;
  for (const Family& family : kFamilies) {
    if (family.prefix.size() <= longest || event.size() < family.prefix.size()) continue;
    if (!arch::equal_case_blind(event.substr(0, family.prefix.size()), family.prefix)) continue;
    part = family.part;
    longest = family.prefix.size();
  }
  return part;
}

}  // namespace zs::session
