// r11 in VEX and EVEX encodings: vvvv, ModRM and VSIB roles, moves to and from vector and mask registers, BMI, ADX.
// Parts that need AVX2 or AVX-512 are left out, and their name printed instead, where CPUID does not offer them.
// build: bare
#include "bare.h"
.bss
.balign 64
memory: .zero 4096
.data
indices: .long 0, 3, 5, 7, 9, 11, 13, 15, 1, 2, 4, 6, 8, 10, 12, 14
.text
.globl _start
_start:
    lea rdi, [rip + memory]
    mov ecx, 512                      # memory[i] = i * odd constant
    xor eax, eax
1:  mov [rdi + rcx * 8 - 8], rax
    imul rax, rcx, 0x01000193
    add rax, 0x55555
    loop 1b
    mov eax, 7
    xor ecx, ecx
    cpuid
    mov r14d, ebx                     # leaf 7: BMI1 3, AVX2 5, BMI2 8, AVX512F 16, ADX 19, AVX512BW 30, VL 31
    mov r12d, 20
again:
    mov r11, 0x0123456789ABCDEF       # SSE
    add r11, r12
    movq xmm0, r11
    movd xmm1, r11d
    paddq xmm0, xmm1
    movq r11, xmm0
    FOLD r11
    pinsrq xmm0, r11, 1
    pinsrw xmm0, r11d, 3
    pinsrb xmm0, r11d, 5
    pextrq r11, xmm0, 1
    pextrd r11d, xmm0, 0
    FOLD r11
    pextrw r11d, xmm0, 3
    FOLD r11
    cvtsi2sd xmm2, r11
    cvtsi2ss xmm3, r11d
    addsd xmm2, xmm2
    cvttsd2si r11, xmm2
    FOLD r11
    cvtss2si r11d, xmm3
    FOLD r11
    pmovmskb r11d, xmm0
    FOLD r11
    lea r11, [rdi + 64]
    movdqu xmm4, [r11]
    movdqa [r11 + 16], xmm4
    paddd xmm4, [r11]
    movntdq [r11 + 32], xmm4
    movlps xmm4, [r11]
    movhpd [r11 + 8], xmm4
    movmskpd r11d, xmm4
    FOLD r11
    mov r11d, 2
    movups xmm5, [rdi + r11 * 8]
    pxor xmm4, xmm5
    movq r11, xmm4
    FOLD r11
    crc32 r11, rax
    crc32 eax, r11b
    crc32 r11d, word ptr [rdi + 66]
    FOLD r11
    popcnt r11, r11
    FOLD r11

    bt r14d, 5
    jnc no_avx2
    mov r11, 0x0123456789ABCDEF       # BMI: r11 as vvvv, source, destination, memory base
    add r11, r12
    mov rcx, 0x0F0F
    andn rax, r11, rcx
    FOLD rax
    andn r11, rcx, r11
    FOLD r11
    bextr rax, rcx, r11
    bextr r11, r11, rcx
    blsi r11, r11
    blsr rax, r11
    blsmsk r11, rcx
    FOLD r11
    bzhi rax, rcx, r11
    pdep r11, r11, rcx
    pext rax, rcx, r11
    FOLD r11
    FOLD rax
    rorx r11, rcx, 7
    mov rdx, 0x123456789
    mulx r11, rax, r11
    FOLD r11
    mulx rax, r11, rcx
    FOLD r11
    shlx rax, rcx, r11
    sarx r11, rcx, r11
    shrx r11, r11, rcx
    FOLD r11
    lea r11, [rdi + 128]
    andn rax, rcx, [r11]
    shlx rax, [r11], rcx
    mulx rax, rbx, [r11]
    FOLD rbx
    adcx r11, rcx
    adox r11, rax
    sub r11, rdi
    vmovq xmm0, r11                   # VEX
    vpinsrq xmm0, xmm0, r11, 1
    vpinsrd xmm1, xmm0, r11d, 2
    vpaddq xmm0, xmm0, xmm1
    vpextrq r11, xmm0, 1
    vcvtsi2sd xmm2, xmm2, r11
    vcvttsd2si r11, xmm2
    FOLD r11
    lea r11, [rdi + 192]
    vmovdqu ymm3, [r11]
    vpaddd ymm3, ymm3, [r11 + 32]
    vmovdqu [r11 + 64], ymm3
    vpbroadcastq ymm4, [r11]
    vbroadcastsd ymm5, [r11 + 8]
    vpmovmskb r11d, ymm3
    FOLD r11
    vmovdqu ymm6, [rip + indices]
    vpcmpeqd ymm7, ymm7, ymm7
    lea r11, [rdi]
    vpgatherdd ymm8, [r11 + ymm6 * 4], ymm7
    vpcmpeqd ymm7, ymm7, ymm7
    vpgatherdq ymm9, [r11 + xmm6 * 8 + 16], ymm7
    vpxor ymm8, ymm8, ymm9
    vpcmpgtd ymm7, ymm8, ymm3
    vpmaskmovd [r11 + 320], ymm7, ymm8
    vpmaskmovd ymm9, ymm7, [r11 + 64]
    vpaddd ymm8, ymm8, ymm9
    vextracti128 xmm9, ymm8, 1
    vpaddd xmm8, xmm8, xmm9
    vmovq r11, xmm8
    FOLD r11
    vzeroupper
no_avx2:
    bt r14d, 16
    jnc no_avx512
    bt r14d, 31
    jnc no_avx512
    mov r11, 0x0123456789ABCDEF       # EVEX
    add r11, r12
    vpbroadcastq zmm16, r11
    vpbroadcastd zmm17, r11d
    vpaddd zmm16, zmm16, zmm17
    vmovq r11, xmm16
    FOLD r11
    kmovw k1, r11d
    kmovq k2, r11
    kmovd r11d, k2
    FOLD r11
    kmovq r11, k2
    lea r11, [rdi + 256]
    vmovdqu64 zmm18, [r11]
    vpaddq zmm18, zmm18, [r11 + 64]
    vpaddq zmm18 {k1}, zmm18, qword ptr [r11 + 8] {1to8}
    vmovdqu32 [r11 + 128] {k1}, zmm18
    vmovdqu64 zmm19, zmmword ptr [rip + indices]
    kxnorw k3, k3, k3
    vpgatherdd zmm20 {k3}, [rdi + zmm19 * 4]
    kxnorw k3, k3, k3
    vpscatterdd [r11 + zmm19 * 4 + 512] {k3}, zmm20
    mov r11d, 4
    vmovups zmm21, [rdi + r11 * 8 + 64]
    vpternlogd zmm21, zmm20, zmm18, 0x96
    vcvtusi2sd xmm22, xmm22, r11
    vcvttsd2usi r11, xmm22
    FOLD r11
    vptestmd k4, zmm21, zmm20
    kmovw r11d, k4
    FOLD r11
    kmovw k4, [rdi + 64]
    vpcompressd [rdi + 1024] {k4}, zmm21
    vextracti64x4 ymm23, zmm21, 1
    vpxord ymm21, ymm21, ymm23
    vpextrq r11, xmm21, 1
    FOLD r11
    vzeroupper
no_avx512:
    xor ecx, ecx                      # everything the parts have stored
2:  mov r11, [rdi + rcx * 8]
    FOLD r11
    inc ecx
    cmp ecx, 256
    jb 2b
    dec r12d
    jnz again
    FINISH
