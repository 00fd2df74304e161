/* What the programs here say of their own data, for types_test.py to hold against what the reports say:
     object TYPE ADDRESS SIZE COUNT FUNCTION    so many values of a type, while FUNCTION runs; "*": always
     field TYPE OFFSET SIZE NAME */
#ifndef TRUTH_H
#define TRUTH_H
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void object(const char* type, const volatile void* at, size_t size, size_t count, const char* function) {
  printf("object\t%s\t%p\t%zu\t%zu\t%s\n", type, (const void*)at, size, count, function);
}

#define FIELD(type, name) \
  printf("field\t%s\t%zu\t%zu\t%s\n", #type, (size_t)offsetof(type, name), sizeof(((type*)0)->name), #name)
#define NEVER_INLINE __attribute__((noinline))
#endif
