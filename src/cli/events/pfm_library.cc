#include "cli/events/pfm_library.h"

#include <dlfcn.h>

#include <optional>

namespace zs::cli {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<PfmLibrary> load() {
  void* const library = dlopen("libpfm.so.4", RTLD_LAZY | RTLD_LOCAL);
  PfmLibrary pfm;
  if (library == nullptr || !find(library, "pfm_initialize", pfm.initialize) ||
      !find(library, "pfm_terminate", pfm.terminate) ||
      !find(library, "pfm_get_event_encoding", pfm.get_event_encoding) ||
      !find(library, "pfm_get_pmu_info", pfm.get_pmu_info) ||
      !find(library, "pfm_get_event_next", pfm.get_event_next) ||
      !find(library, "pfm_get_event_info", pfm.get_event_info) ||
      !find(library, "pfm_get_event_attr_info", pfm.get_event_attr_info)) {
    return std::nullopt;
  }
  return pfm;
}

}  // namespace

const PfmLibrary* PfmLibrary::get() {
  static const std::optional<PfmLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace zs::cli
