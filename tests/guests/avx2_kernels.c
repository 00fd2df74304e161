// AVX, AVX2 and FMA: arithmetic, shuffles, gathers, masked moves, transitions between VEX and legacy SSE code.
// build: static -O2 -mavx2 -mfma -mbmi -mbmi2
#include <immintrin.h>

#include "guest.h"

static __attribute__((noinline)) uint64_t integers(const int32_t* a, int32_t* out) {
  __m256i s = _mm256_setzero_si256();
  const __m256i order = _mm256_setr_epi32(7, 1, 6, 0, 5, 2, 4, 3);
  for (int i = 0; i < 256; i += 8) {
    const __m256i v = _mm256_loadu_si256((const __m256i*)(a + i));
    const __m256i index = _mm256_and_si256(v, _mm256_set1_epi32(255));
    const __m256i gathered = _mm256_i32gather_epi32(a, index, 4);
    const __m256i mask = _mm256_cmpgt_epi32(v, _mm256_set1_epi32(5000));
    s = _mm256_add_epi32(s, _mm256_permutevar8x32_epi32(gathered, order));
    s = _mm256_xor_si256(s, _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x00010203)));
    s = _mm256_add_epi32(s, _mm256_mullo_epi32(v, _mm256_srlv_epi32(v, order)));
    _mm256_maskstore_epi32(out + i, mask, s);
    s = _mm256_blendv_epi8(s, _mm256_maskload_epi32(out + i, mask), mask);
  }
  uint64_t words[4];
  _mm256_storeu_si256((__m256i*)words, s);
  return words[0] ^ words[1] ^ words[2] ^ words[3] ^ (uint64_t)(uint32_t)_mm256_movemask_epi8(s);
}
static __attribute__((noinline)) double floats(const double* a) {
  __m256d s = _mm256_set1_pd(0.5);
  for (int i = 0; i < 64; i += 4) {
    const __m256d v = _mm256_loadu_pd(a + i);
    s = _mm256_fmadd_pd(v, _mm256_set1_pd(0.25), s);
    s = _mm256_fnmadd_pd(s, _mm256_set1_pd(0.125), v);
    s = _mm256_div_pd(_mm256_sqrt_pd(_mm256_add_pd(_mm256_mul_pd(s, s), v)), _mm256_set1_pd(1.5));
    s = _mm256_hadd_pd(s, _mm256_permute2f128_pd(s, v, 0x21));
  }
  double d[4];
  _mm256_storeu_pd(d, s);
  return d[0] + d[1] * 3 + d[2] * 5 + d[3] * 7;
}

int main(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    puts("no AVX2 here");
    return 0;
  }
  uint64_t state = 3;
  int32_t a[264], out[264] = {0};
  double d[64];
  for (int i = 0; i < 264; ++i) a[i] = (int32_t)(guest_random(&state) % 10000);
  for (int i = 0; i < 64; ++i) d[i] = (double)(guest_random(&state) % 100) / 4 + 1;
  for (int round = 0; round < 20; ++round) {
    printf("%016llx ", (unsigned long long)integers(a, out));
    a[round] += round;
  }
  printf("\n%016llx %.17g\n", (unsigned long long)guest_sum(GUEST_SUM, out, sizeof out), floats(d));
  printf("%llx %llx\n", (unsigned long long)_pdep_u64(0x12345, 0xF0F0F0F0F0), (unsigned long long)_pext_u64(state, 0xFF00FF00FF));
  return 0;
}
