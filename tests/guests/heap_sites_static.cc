// build: static -pthread
// The same, linked statically: the allocator is the program's own.
#include "heap_sites.cc"
