#include "fr_cpu.h"

#define FR_TEXT_(x) #x
#define FR_TEXT(x) FR_TEXT_(x)

int fr_cpu_best(void)
{
#if FR_HAS_LEVELS
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v4")   ? FR_CPU_V4
           : __builtin_cpu_supports("x86-64-v3") ? FR_CPU_V3
                                                 : FR_CPU_BASELINE;
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
