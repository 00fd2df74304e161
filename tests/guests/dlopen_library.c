// dlopen, dlsym, dlclose while running: code that appears and goes, IFUNC and TLS in loaded libraries, constructors.
// build: dynamic -O1
#define _GNU_SOURCE
#include <dlfcn.h>

#include "guest.h"

int main(void) {
  double sum = 0;
  for (int round = 0; round < 20; ++round) {
    void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    GUEST_CHECK(library != NULL);
    double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
    double (*power)(double, double) = (double (*)(double, double))dlsym(library, "pow");
    GUEST_CHECK(cosine != NULL && power != NULL);
    sum += cosine(round) + power(1.5, round);
    Dl_info where;
    GUEST_CHECK(dladdr((void*)cosine, &where) != 0 && strstr(where.dli_fname, "libm") != NULL);
    GUEST_CHECK(dlsym(library, "no_such_symbol") == NULL && dlerror() != NULL);
    dlclose(library);
  }
  printf("%.12g\n", sum);
  void* compression = dlopen("libz.so.1", RTLD_LAZY);
  if (compression != NULL) {
    unsigned long (*crc)(unsigned long, const char*, unsigned) =
        (unsigned long (*)(unsigned long, const char*, unsigned))dlsym(compression, "crc32");
    printf("%lx\n", crc(0, "123456789", 9));
    dlclose(compression);
  }
  GUEST_CHECK(dlopen("no-such-library.so", RTLD_NOW) == NULL);
  printf("%s\n", strstr(dlerror(), "cannot open shared object file") ? "missing library refused" : "?");
  void* self = dlopen(NULL, RTLD_NOW);
  printf("own symbols %d\n", dlsym(self, "printf") != NULL && dlsym(RTLD_NEXT, "malloc") != NULL);
  return 0;
}
