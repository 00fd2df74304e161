// build: static -pthread
// The same, linked statically: the allocator is the program's own.
#define HEAP_SITES_STATIC
#include "heap_sites.cc"
