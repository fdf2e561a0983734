#include "fr_cpu.h"

#define FR_TEXT_(x) #x
#define FR_TEXT(x) FR_TEXT_(x)

int fr_cpu_best(void)
{
#if FR_HAS_LEVELS
    /* Feature by feature: __builtin_cpu_supports("x86-64-v3") is newer than the compilers we accept. */
    __builtin_cpu_init();
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
             && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
    int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
             && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
             && __builtin_cpu_supports("avx512vl");
    return v4 ? FR_CPU_V4 : v3 ? FR_CPU_V3 : FR_CPU_BASELINE;
#else
    return FR_CPU_BASELINE;
#endif
}

const char *fr_cpu_compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#elif defined(_MSC_VER)
    return "msvc " FR_TEXT(_MSC_VER);
#else
    return "unknown compiler";
#endif
}
