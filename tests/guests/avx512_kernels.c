// AVX-512: masks, zeroing and merging, broadcasts, compress and expand, scatters, ternary logic, 16 upper registers.
// compiler: GNU
// build: static -O2 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
#include <immintrin.h>

#include "guest.h"

static __attribute__((noinline)) uint64_t run(int32_t* a) {
  __m512i s = _mm512_set1_epi32(17);
  __mmask16 k = 0x5A5A;
  for (int i = 0; i < 256; i += 16) {
    const __m512i v = _mm512_loadu_si512(a + i);
    k ^= _mm512_cmpgt_epi32_mask(v, s);
    s = _mm512_mask_add_epi32(s, k, v, _mm512_set1_epi32(i));
    s = _mm512_ternarylogic_epi32(s, v, _mm512_rol_epi32(v, 7), 0x96);
    s = _mm512_maskz_expand_epi32((__mmask16)~k, s);
    _mm512_mask_compressstoreu_epi32(a + i, k, s);
    const __m512i index = _mm512_and_si512(v, _mm512_set1_epi32(255));
    s = _mm512_xor_si512(s, _mm512_i32gather_epi32(index, a, 4));
    _mm512_mask_i32scatter_epi32(a, k, index, s, 4);
    s = _mm512_add_epi32(s, _mm512_conflict_epi32(index));
    k = _kadd_mask16(k, _kshiftri_mask16(k, 3));
  }
  return (uint64_t)_mm512_reduce_add_epi64(s) ^ k;
}
static __attribute__((noinline)) double floats(const double* a) {
  register __m512d s __asm__("xmm20") = _mm512_set1_pd(0.5);
  register __m512d t __asm__("xmm31") = _mm512_set1_pd(2);
  for (int i = 0; i < 64; i += 8) {
    const __m512d v = _mm512_loadu_pd(a + i);
    s = _mm512_fmadd_pd(v, _mm512_set1_pd(0.25), s);
    t = _mm512_mask_sub_round_pd(t, 0x3C, t, s, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    s = _mm512_mask_div_pd(s, 0xA5, s, _mm512_add_pd(_mm512_abs_pd(t), _mm512_set1_pd(1)));
    __asm__ volatile("" : "+v"(s), "+v"(t));
  }
  return _mm512_reduce_add_pd(s) + _mm512_reduce_max_pd(t);
}

int main(void) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd")) {
    puts("no AVX-512 here");
    return 0;
  }
  uint64_t state = 11;
  int32_t a[272];
  double d[64];
  for (int i = 0; i < 272; ++i) a[i] = (int32_t)(guest_random(&state) % 100000);
  for (int i = 0; i < 64; ++i) d[i] = (double)(guest_random(&state) % 100) / 4 + 1;
  for (int round = 0; round < 20; ++round) {
    printf("%016llx ", (unsigned long long)run(a));
    for (int i = 0; i < 272; i += 3) a[i] ^= (int32_t)(guest_random(&state) % 100000);
  }
  printf("\n%016llx %.17g\n", (unsigned long long)guest_sum(GUEST_SUM, a, sizeof a), floats(d));
  return 0;
}
