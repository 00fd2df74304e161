// The same at a fixed address, where the table of the code's branches lies elsewhere.
// build: static
#include "stray_pointers.c"
