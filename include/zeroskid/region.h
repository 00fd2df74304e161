/* Regions: `zeroskid stat` counts what runs between ZS_REGION_BEGIN("name") and ZS_REGION_END("name"), per thread.
 *
 *   ZS_REGION_BEGIN("sort");
 *   sort_rows();
 *   ZS_REGION_END("sort");
 *
 * In C++, ZS_REGION("name"); begins one that ends with the block it stands in, whichever way that is left. One on a line.
 *
 * Without zeroskid a mark is one instruction that does nothing: 7 bytes, no register, no flag, no memory access. It is
 *
 *   0F 1F 05 d32        nop dword [rip + d32]
 *
 * and d32 leads to what it says, in read-only data: the eight bytes "zsregion", 'B' or 'E', the name, a zero byte. A region
 * holds the instructions between its marks, without the marks. Stores and loads stay on their side of a mark; what the
 * compiler keeps in registers may move across it, as across any other statement that does not use it.
 *
 * The name is a string literal of at most 200 bytes, without % { | } " and backslash. ZS_REGION_DISABLE before the #include
 * leaves nothing of the marks. C from C89 on, C++ from C++98 on, gcc and clang. */
#ifndef ZEROSKID_REGION_H
#define ZEROSKID_REGION_H

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(ZS_REGION_DISABLE)
#define ZS_REGION_TEXT_(text) #text
/* .byte and not a mnemonic, so that it is the same in both syntaxes of assembly. */
#define ZS_REGION_MARK_(kind, name) \
  __asm__ __volatile__(                              \
      ".pushsection .rodata.zeroskid,\"a\",@progbits\n" \
      "771: .ascii \"zsregion" kind "\"\n"           \
      ".asciz " ZS_REGION_TEXT_(name) "\n"           \
      ".popsection\n"                                \
      ".byte 0x0f, 0x1f, 0x05\n"                     \
      ".long 771b - . - 4\n"                         \
      :                                              \
      :                                              \
      : "memory")
#else
#define ZS_REGION_MARK_(kind, name) ((void)0)
#endif

#define ZS_REGION_BEGIN(name) ZS_REGION_MARK_("B", name)
#define ZS_REGION_END(name) ZS_REGION_MARK_("E", name)

#ifdef __cplusplus
#define ZS_REGION_JOIN2_(a, b) a##b
#define ZS_REGION_JOIN_(a, b) ZS_REGION_JOIN2_(a, b)
/* The object's type is made on the spot: its destructor is one instruction, and has the name in it. */
#define ZS_REGION(name)                                                                                            \
  ZS_REGION_BEGIN(name);                                                                                           \
  struct ZS_REGION_JOIN_(ZsRegionEnd, __LINE__) {                                                                  \
    __attribute__((always_inline)) ~ZS_REGION_JOIN_(ZsRegionEnd, __LINE__)() { ZS_REGION_END(name); }              \
  } ZS_REGION_JOIN_(zs_region_end_, __LINE__)
#endif

#endif
