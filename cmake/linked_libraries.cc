// What the zeroskid of `make tarball` has in place of a dynamic loader: libpfm is linked into it, and no other library is
// there to be opened (libdw would open debuginfod's).
#include <perfmon/pfmlib.h>

#include <cstring>

namespace {

char pfm_library;

struct Function {
  const char* name;
  void* address;
};
template <class Type>
Function function(const char* name, Type* address) {
  return {name, reinterpret_cast<void*>(address)};
}
/// Those that src/cli/events/pfm_library.cc asks for.
const Function kFunctions[] = {
    function("pfm_initialize", pfm_initialize),
    function("pfm_terminate", pfm_terminate),
    function("pfm_get_event_encoding", pfm_get_event_encoding),
    function("pfm_get_pmu_info", pfm_get_pmu_info),
    function("pfm_get_event_next", pfm_get_event_next),
    function("pfm_get_event_info", pfm_get_event_info),
    function("pfm_get_event_attr_info", pfm_get_event_attr_info),
};

}  // namespace

extern "C" {

void* dlopen(const char* file, int /*mode*/) noexcept {
  return file != nullptr && std::strcmp(file, "libpfm.so.4") == 0 ? &pfm_library : nullptr;
}

void* dlsym(void* /*library*/, const char* name) noexcept {
  for (const Function& function : kFunctions) {
    if (std::strcmp(function.name, name) == 0) return function.address;
  }
  return nullptr;
}

int dlclose(void* /*library*/) noexcept { return 0; }
char* dlerror() noexcept { return nullptr; }
}
